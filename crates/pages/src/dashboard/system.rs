//! `/dashboard/system`: the state of the deployment, parked conversations, and the tenants, for operators.

mod parked;
mod tenants;

use domain::Timestamp;
use maud::{Markup, html};

use crate::components::{Column, Line, SeriesColour, Tone, line_chart, notice, number, table, time};
use crate::layout::{Frame, Freshness, Person, Section, document};

pub use parked::ParkedRow;

/// The lag at a time, in messages without rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LagSample {
    /// When it was read.
    pub at: Timestamp,
    /// Messages without rows of conversations.
    pub rows: u64,
    /// Messages that are not indexed for the search.
    pub search: u64,
}

/// A table of texts.
#[derive(Debug, Clone, Copy)]
pub struct TextTable<'a> {
    /// The heads of the columns; the first one names a row.
    pub columns: &'a [&'a str],
    /// The rows.
    pub rows: &'a [Vec<String>],
}

/// The values of the page.
#[derive(Clone, Copy)]
pub struct SystemPage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// What needs an operator.
    pub needs: &'a [String],
    /// What an operator should know.
    pub warnings: &'a [String],
    /// The state of record, rows and search: names and texts.
    pub facts: &'a [(&'static str, String)],
    /// The last samples, in order.
    pub lag: &'a [LagSample],
    /// The partitions.
    pub partitions: TextTable<'a>,
    /// The schemas of the rows, with the progress of a rebuild.
    pub schemas: TextTable<'a>,
    /// Parked conversations, by tenant and id.
    pub parked: &'a [ParkedRow],
    /// Whether there are more.
    pub has_more_parked: bool,
    /// The tenants that the person may switch to; `None`: the session is of one tenant only.
    pub tenants: Option<&'a [String]>,
    /// Whether there are more tenants.
    pub has_more_tenants: bool,
}

/// The state of the deployment.
#[must_use]
pub fn system(page: SystemPage<'_>) -> Markup {
    let frame = Frame {
        title: "System",
        person: Some(page.person),
        section: Some(Section::System),
        freshness: Freshness::Current,
    };
    let main = html! {
        (state(page))
        (lag(page.lag))
        h2 { "Partitions" }
        (texts("Partitions", page.partitions))
        h2 { "Parked conversations" }
        (parked::parked(page))
        h2 { "Rows and rebuilds" }
        (texts("Schemas of the rows", page.schemas))
        (commands())
        (tenants::tenants(page))
    };
    document(&frame, &main)
}

fn state(page: SystemPage<'_>) -> Markup {
    html! {
        @if page.needs.is_empty() {
            (notice(Tone::Good, "Healthy: nothing needs an operator."))
        } @else {
            div.notice.bad role="alert" {
                strong { "Needs an operator" }
                ul { @for need in page.needs { li { (need) } } }
            }
        }
        @for warning in page.warnings { (notice(Tone::Warn, warning)) }
        dl.facts.card {
            @for (name, text) in page.facts { dt { (name) } dd { (text) } }
        }
    }
}

fn lag(samples: &[LagSample]) -> Markup {
    let line = |name, colour, value: fn(&LagSample) -> u64| Line {
        name,
        colour,
        points: samples.iter().map(|sample| (sample.at, value(sample))).collect(),
    };
    let lines = [
        line("rows", SeriesColour::Accent, |sample| sample.rows),
        line("search", SeriesColour::Warn, |sample| sample.search),
    ];
    let rows: Vec<Markup> = samples.iter().rev().map(sample).collect();
    let columns = [Column::text("Time"), Column::number("Without rows"), Column::number("Not indexed")];
    html! {
        (line_chart("Messages that the rows and the search lack", &lines))
        details {
            summary.muted { "The samples of the chart: " (number(u64::try_from(samples.len()).unwrap_or(u64::MAX))) }
            (table("Lag of rows and search", &columns, &rows))
        }
    }
}

fn sample(sample: &LagSample) -> Markup {
    html! {
        tr {
            th scope="row" { (time(sample.at)) }
            td.number { (number(sample.rows)) }
            td.number { (number(sample.search)) }
        }
    }
}

fn texts(caption: &str, texts: TextTable<'_>) -> Markup {
    let columns: Vec<Column<'_>> = texts.columns.iter().copied().map(Column::text).collect();
    let rows: Vec<Markup> = texts
        .rows
        .iter()
        .map(|cells| {
            html! {
                tr {
                    @for (index, cell) in cells.iter().enumerate() {
                        @if index == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                    }
                }
            }
        })
        .collect();
    table(caption, &columns, &rows)
}

/// What the gateway has no right to read or to do, with the command for it.
fn commands() -> Markup {
    const COMMANDS: [(&str, &str); 5] = [
        ("hansard status", "roles, causes of holes, and the age of erasures"),
        ("hansard archive list", "segments of the archive"),
        ("hansard rebuild conversations", "rebuilds the rows; hansard rebuild list shows the progress"),
        ("hansard rebuild search", "indexes everything for the search again"),
        ("hansard verify", "compares rows with the record"),
    ];
    html! {
        details {
            summary { "What needs the rights of an operator's command line" }
            dl.facts {
                @for (command, meaning) in COMMANDS { dt { code { (command) } } dd { (meaning) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use identity::Role;

    use super::*;

    #[test]
    fn script_in_any_value_is_text() {
        const SCRIPT: &str = "<script>alert(1)</script>";
        let texts = [SCRIPT.to_owned()];
        let rows = [vec![SCRIPT.to_owned(), SCRIPT.to_owned()]];
        let of_texts = TextTable { columns: &["A", "B"], rows: &rows };
        let parked = [ParkedRow {
            tenant: SCRIPT.to_owned(),
            conversation: SCRIPT.to_owned(),
            sequence: 1,
            reason: SCRIPT.to_owned(),
            attempts: 1,
            commits: 1,
        }];
        let page = system(SystemPage {
            person: Person { name: SCRIPT, tenant: SCRIPT, role: Role::Operator, form_token: "t" },
            needs: &texts,
            warnings: &texts,
            facts: &[("Record", SCRIPT.to_owned())],
            lag: &[],
            partitions: of_texts,
            schemas: of_texts,
            parked: &parked,
            has_more_parked: true,
            tenants: Some(&texts),
            has_more_tenants: true,
        })
        .into_string();
        assert!(!page.contains("<script>alert"), "{page}");
        assert!(!page.contains("style="), "{page}");
    }
}
