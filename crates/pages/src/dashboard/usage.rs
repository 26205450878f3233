//! `/dashboard/usage`: tokens by day, agent and model, and how runs ended.

use domain::RunOutcome;
use domain::event::Usage;
use maud::{Markup, html};

use crate::components::{
    BarChart, BarSeries, Column, EmptyState, SeriesColour, Tone, bar_chart, empty, notice, number, table,
};
use crate::cost::{Cost, Prices, sum};
use crate::layout::{Frame, Freshness, Person, Section, document};

/// Bars of a chart of agents or models: those with the most tokens.
const NAMES_CHARTED_MAX: usize = 10;
/// A part of a bar of tokens.
#[derive(Clone, Copy)]
struct TokensPart {
    name: &'static str,
    colour: SeriesColour,
    value: fn(&Usage) -> u64,
}
/// The parts of bars of tokens.
const TOKENS: [TokensPart; 3] = [
    TokensPart {
        name: "read",
        colour: SeriesColour::Accent,
        value: |tokens| tokens.input_tokens.saturating_sub(tokens.cached_tokens),
    },
    TokensPart { name: "read from the cache", colour: SeriesColour::Good, value: |tokens| tokens.cached_tokens },
    TokensPart { name: "written", colour: SeriesColour::Warn, value: |tokens| tokens.output_tokens },
];

/// The usage of a day, an agent or a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// The day, the agent or the model.
    pub name: String,
    /// Messages of models that contain usage.
    pub messages: u64,
    /// Their tokens.
    pub tokens: Usage,
    /// What they cost; `None`: no model of the row has a price.
    pub cost: Option<Cost>,
}

/// The runs that ended on a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunsRow {
    /// The day.
    pub day: String,
    /// The number of runs, in the order of [`RunOutcome::ALL`].
    pub runs: [u64; 4],
}

/// Which usage is shown.
#[derive(Debug, Clone, Copy)]
pub struct UsageRange<'a> {
    /// The first day.
    pub from: &'a str,
    /// The last day.
    pub to: &'a str,
    /// The agent; empty: all.
    pub agent: &'a str,
    /// The query of the page's URL, for the downloads.
    pub query: &'a str,
}

/// The values of the page.
#[derive(Clone, Copy)]
pub struct UsagePage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// Which usage is shown.
    pub range: UsageRange<'a>,
    /// The agents of the tenant.
    pub agents: &'a [String],
    /// Every day of the range, in order.
    pub days: &'a [UsageRow],
    /// The agents with usage, the greatest number of tokens first.
    pub by_agent: &'a [UsageRow],
    /// The models with usage, the greatest number of tokens first.
    pub by_model: &'a [UsageRow],
    /// Ended runs of every day of the range, in order.
    pub runs: &'a [RunsRow],
    /// Whether there is more usage than was read.
    pub is_cut: bool,
    /// The prices of models.
    pub prices: &'a Prices,
    /// Up to when the usage is complete.
    pub freshness: Freshness,
}

/// The usage of a tenant.
#[must_use]
pub fn usage(page: UsagePage<'_>) -> Markup {
    let frame =
        Frame { title: "Usage", person: Some(page.person), section: Some(Section::Usage), freshness: page.freshness };
    let none = EmptyState {
        title: "No usage",
        detail: "No message with token counts and no end of a run was recorded in this range.",
        action: Some(("Show the last 30 days", "/dashboard/usage")),
    };
    let has_runs = page.runs.iter().any(|row| row.runs != [0; 4]);
    let main = html! {
        (range(page))
        @if page.is_cut {
            (notice(Tone::Warn, "The range has more usage than a page reads. Choose fewer days, or one agent."))
        }
        @if page.by_agent.is_empty() && !has_runs {
            (empty(none))
        } @else {
            (totals(page))
            (section(page, "Tokens by day", "Day", page.days))
            (section(page, "Tokens by agent", "Agent", page.by_agent))
            (section(page, "Tokens by model", "Model", page.by_model))
            (runs(page.runs))
        }
    };
    document(&frame, &main)
}

fn range(page: UsagePage<'_>) -> Markup {
    let UsageRange { from, to, agent, query } = page.range;
    html! {
        form.range method="get" action="/dashboard/usage" {
            div.field { label for="from" { "From" } input #from type="date" name="from" value=(from) required; }
            div.field { label for="to" { "To" } input #to type="date" name="to" value=(to) required; }
            div.field {
                label for="agent" { "Agent" }
                input #agent type="text" name="agent" value=(agent) list="agents" placeholder="all" data-filter
                    autocomplete="off" spellcheck="false";
                datalist #agents { @for agent in page.agents { option value=(agent) {} } }
            }
            button type="submit" { "Show" }
            a.button.quiet href={ "/dashboard/usage/download?" (query) } download { "Download tokens (CSV)" }
            a.button.quiet href={ "/dashboard/usage/runs?" (query) } download { "Download runs (CSV)" }
        }
        p.muted { "Days are of UTC. Erased conversations stay counted." }
    }
}

fn totals(page: UsagePage<'_>) -> Markup {
    let total = |part: fn(&UsageRow) -> u64| page.days.iter().map(part).fold(0, u64::saturating_add);
    let runs = page.runs.iter().flat_map(|row| row.runs);
    html! {
        dl.facts.card {
            dt { "Messages of models" } dd { (number(total(|row| row.messages))) }
            dt { "Tokens" }
            dd {
                "read " (number(total(|row| row.tokens.input_tokens)))
                " (cached " (number(total(|row| row.tokens.cached_tokens))) "), written "
                (number(total(|row| row.tokens.output_tokens)))
            }
            dt { "Ended runs" } dd { (number(runs.fold(0, u64::saturating_add))) }
            @if !page.prices.by_model.is_empty() {
                dt { "Cost" } dd { (page.prices.text(sum(page.by_model.iter().map(|row| row.cost)))) }
            }
        }
    }
}

fn section(page: UsagePage<'_>, title: &str, name: &str, rows: &[UsageRow]) -> Markup {
    let has_cost = !page.prices.by_model.is_empty();
    let mut columns = vec![Column::text(name)];
    columns.extend(["Messages", "Read", "Of it cached", "Written"].map(Column::number));
    columns.extend(has_cost.then(|| Column::number("Cost")));
    let used = rows.iter().filter(|row| row.messages > 0);
    let lines: Vec<Markup> = used
        .map(|row| {
            let tokens = &row.tokens;
            html! {
                tr {
                    th scope="row" { (row.name) }
                    @for value in [row.messages, tokens.input_tokens, tokens.cached_tokens, tokens.output_tokens] {
                        td.number { (number(value)) }
                    }
                    @if has_cost { td.number { (page.prices.text(row.cost)) } }
                }
            }
        })
        .collect();
    let charted = if name == "Day" { rows.len() } else { NAMES_CHARTED_MAX };
    html! {
        (chart(title, rows.get(..charted).unwrap_or(rows)))
        (table(title, &columns, &lines))
    }
}

fn chart(title: &str, rows: &[UsageRow]) -> Markup {
    let bars: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let series = TOKENS.map(|part| BarSeries {
        name: part.name,
        colour: part.colour,
        values: rows.iter().map(|row| (part.value)(&row.tokens)).collect(),
    });
    bar_chart(BarChart { title, bars: &bars, series: &series })
}

fn runs(rows: &[RunsRow]) -> Markup {
    let title = "Ended runs by day and outcome";
    let bars: Vec<&str> = rows.iter().map(|row| row.day.as_str()).collect();
    let series: Vec<BarSeries<'_>> = RunOutcome::ALL
        .into_iter()
        .enumerate()
        .map(|(index, outcome)| BarSeries {
            name: outcome.as_str(),
            colour: colour(outcome),
            values: rows.iter().map(|row| row.runs.get(index).copied().unwrap_or_default()).collect(),
        })
        .collect();
    let mut columns = vec![Column::text("Day")];
    columns.extend(RunOutcome::ALL.map(|outcome| Column::number(outcome.as_str())));
    let lines: Vec<Markup> = rows
        .iter()
        .filter(|row| row.runs != [0; 4])
        .map(|row| {
            html! {
                tr {
                    th scope="row" { (row.day) }
                    @for runs in row.runs { td.number { (number(runs)) } }
                }
            }
        })
        .collect();
    html! {
        (bar_chart(BarChart { title, bars: &bars, series: &series }))
        (table(title, &columns, &lines))
    }
}

fn colour(outcome: RunOutcome) -> SeriesColour {
    match outcome {
        RunOutcome::Completed => SeriesColour::Good,
        RunOutcome::Stopped => SeriesColour::Accent,
        RunOutcome::Failed => SeriesColour::Bad,
        RunOutcome::Abandoned => SeriesColour::Warn,
    }
}
