//! `/dashboard`: the list of conversations.

use domain::Timestamp;
use identity::Role;
use maud::{Markup, html};

use super::search;
use crate::components::{
    Column, EmptyState, FilterLine, FilterWord, PageLinks, Tone, badge, empty, filter_line, form, notice, number,
    pagination, table, time, tokens, utc,
};
use crate::layout::{Frame, Freshness, Person, Section, document};

const PATH: &str = "/dashboard";
const VIEWS_PATH: &str = "/dashboard/views";

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The model finished.
    Completed,
    /// A caller stopped it.
    Stopped,
    /// The model failed.
    Failed,
    /// Its gateway disappeared.
    Abandoned,
}

impl Outcome {
    fn badge(self) -> Markup {
        match self {
            Self::Completed => badge(Tone::Good, "completed"),
            Self::Stopped => badge(Tone::Neutral, "stopped"),
            Self::Failed => badge(Tone::Bad, "failed"),
            Self::Abandoned => badge(Tone::Warn, "abandoned"),
        }
    }
}

/// A conversation of the list.
#[derive(Debug, Clone)]
pub struct ConversationRow {
    /// Its id.
    pub id: String,
    /// The title; empty: none.
    pub title: String,
    /// The beginning of the first input; empty: none.
    pub first_input: String,
    /// The beginning of the last output; empty: none.
    pub last_output: String,
    /// The agent.
    pub agent: String,
    /// The owner's id.
    pub owner: String,
    /// Whether it is archived.
    pub is_archived: bool,
    /// How its last run ended; `None`: no run has ended.
    pub outcome: Option<Outcome>,
    /// Messages.
    pub messages: u64,
    /// Recorded errors and failed runs.
    pub errors: u64,
    /// Tokens that models read and wrote.
    pub tokens: u64,
    /// When its last event was recorded.
    pub last_event_at: Timestamp,
}

/// A saved filter, shared in the tenant.
#[derive(Debug, Clone)]
pub struct SavedView {
    /// Its name.
    pub name: String,
    /// The URL with its filter.
    pub href: String,
    /// Whether the shown filter is that of the view.
    pub is_current: bool,
}

/// What a page examined, if more conversations could match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExaminedRange {
    /// The time of the oldest examined conversation.
    pub back_to: Timestamp,
    /// The number of matches among the examined conversations.
    pub found: usize,
}

/// The values of the page.
#[derive(Clone, Copy)]
pub struct ConversationsPage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// The filter line.
    pub filter: &'a str,
    /// The words of filters.
    pub words: &'a [FilterWord],
    /// The saved views, by name.
    pub views: &'a [SavedView],
    /// What is wrong with the filter.
    pub error: Option<&'a str>,
    /// Whether the rows are sorted by a number.
    pub is_sorted: bool,
    /// The conversations.
    pub rows: &'a [ConversationRow],
    /// What was examined; `None`: the page is full, or all conversations were examined.
    pub examined: Option<ExaminedRange>,
    /// The other pages.
    pub links: PageLinks<'a>,
    /// Up to when the rows are complete.
    pub freshness: Freshness,
}

/// The list of conversations.
#[must_use]
pub fn conversations(page: ConversationsPage<'_>) -> Markup {
    let frame = Frame {
        title: "Conversations",
        person: Some(page.person),
        section: Some(Section::Conversations),
        freshness: page.freshness,
    };
    let columns = [
        Column::text("Conversation"),
        Column::text("Last output"),
        Column::text("Agent"),
        Column::text("Owner"),
        Column::text("Last run"),
        Column::number("Messages"),
        Column::number("Errors"),
        Column::number("Tokens"),
        Column::text("Last activity"),
    ];
    let rows: Vec<Markup> = page.rows.iter().map(row).collect();
    let main = html! {
        (views(&page))
        (filter_line(FilterLine {
            action: PATH,
            value: page.filter,
            error: page.error,
            words: page.words,
        }))
        @if let Some(examined) = page.examined {
            (notice(Tone::Neutral, &examined_range(examined, page.is_sorted)))
        } @else if page.is_sorted {
            (notice(Tone::Neutral, "Sorted: the newest 500 matches. Narrow the filter to sort others."))
        }
        @if !rows.is_empty() {
            (table("Conversations", &columns, &rows))
        } @else if page.error.is_none() && page.examined.is_none() {
            (nothing(&page))
        }
        (pagination(page.links))
    };
    document(&frame, &main)
}

/// The saved views, and forms that save the shown filter or remove the shown view.
fn views(page: &ConversationsPage<'_>) -> Markup {
    let may_save = page.person.role >= Role::Support && page.error.is_none();
    let current = page.views.iter().find(|view| view.is_current);
    let save = html! {
        input type="hidden" name="q" value=(page.filter);
        input type="text" name="name" required maxlength="64" aria-label="Name of the view" placeholder="Name of the view";
        button type="submit" { "Save view" }
    };
    html! {
        div.views {
            a.chip href=(search::PATH) { "Search texts" }
            @for view in page.views {
                a.chip href=(view.href) aria-current=[view.is_current.then_some("true")] { (view.name) }
            }
            @if let (true, Some(view)) = (may_save, current) {
                (form(&page.person, VIEWS_PATH, &html! {
                    input type="hidden" name="name" value=(view.name);
                    button.quiet type="submit" { "Remove view" }
                }))
            } @else if may_save && !page.filter.is_empty() {
                (form(&page.person, VIEWS_PATH, &save))
            }
        }
    }
}

/// A sorted list has no next page.
fn examined_range(examined: ExaminedRange, is_sorted: bool) -> String {
    let (found, at) = (examined.found, utc(examined.back_to));
    if is_sorted {
        return format!(
            "Sorted: {found} found among the conversations back to {at}. Older ones were not examined: add agent:, after: or before:."
        );
    }
    format!(
        "{found} found among the conversations back to {at}. Go to the next page to look further back, or add agent:, after: or before:."
    )
}

fn nothing(page: &ConversationsPage<'_>) -> Markup {
    let up_to = match page.freshness {
        Freshness::UpTo(at) => format!(" Rows are complete up to {}.", utc(at)),
        Freshness::Current => " The rows are current.".to_owned(),
        Freshness::None => String::new(),
    };
    if page.filter.is_empty() && page.links.first.is_none() {
        let detail = format!("A conversation appears here when an agent has recorded one.{up_to}");
        return empty(EmptyState { title: "No conversations yet", detail: &detail, action: None });
    }
    let detail = format!("Filter: {}. All of the tenant's conversations were examined.{up_to}", page.filter);
    let title = if page.links.first.is_some() { "No more conversations match" } else { "No conversation matches" };
    empty(EmptyState { title, detail: &detail, action: Some(("Show all conversations", PATH)) })
}

fn row(row: &ConversationRow) -> Markup {
    let name = [&row.title, &row.first_input, &row.id].into_iter().find(|name| !name.trim().is_empty());
    html! {
        tr {
            th scope="row" {
                a.excerpt data-row href={ "/dashboard/conversations/" (row.id) } dir="auto" {
                    (name.map(String::as_str).unwrap_or_default())
                }
                @if row.is_archived { " " (badge(Tone::Neutral, "archived")) }
            }
            td { span.excerpt.muted dir="auto" { (row.last_output) } }
            td.nowrap { (row.agent) }
            td { span.excerpt { (row.owner) } }
            td { @if let Some(outcome) = row.outcome { (outcome.badge()) } }
            td.number { (number(row.messages)) }
            td.number { @if row.errors > 0 { (badge(Tone::Bad, &number(row.errors))) } @else { "0" } }
            td.number { (tokens(row.tokens)) }
            td.nowrap { (time(row.last_event_at)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(filter: &str, rows: &[ConversationRow], freshness: Freshness) -> String {
        conversations(values(filter, rows, freshness)).into_string()
    }

    fn values<'a>(filter: &'a str, rows: &'a [ConversationRow], freshness: Freshness) -> ConversationsPage<'a> {
        ConversationsPage {
            person: Person { name: "ada", tenant: "acme", role: Role::Viewer, form_token: "t" },
            filter,
            words: &[],
            views: &[],
            error: None,
            is_sorted: false,
            rows,
            examined: None,
            links: PageLinks::default(),
            freshness,
        }
    }

    #[test]
    fn empty_lists_say_what_was_searched_and_up_to_when() {
        let none = page("", &[], Freshness::Current);
        assert!(none.contains("No conversations yet"), "{none}");
        let filtered = page("agent:<b>", &[], Freshness::UpTo(Timestamp(0)));
        assert!(filtered.contains("Filter: agent:&lt;b&gt;."), "{filtered}");
        assert!(filtered.contains("complete up to 1970-01-01 00:00:00 UTC"));
    }

    #[test]
    fn only_pages_with_a_next_page_point_to_it() {
        let check = |is_sorted: bool, next: Option<&str>| {
            let page = conversations(ConversationsPage {
                is_sorted,
                examined: Some(ExaminedRange { back_to: Timestamp(0), found: 77 }),
                links: PageLinks { first: None, next },
                ..values("tool:search", &[], Freshness::None)
            })
            .into_string();
            assert_eq!(page.contains("Go to the next page"), next.is_some());
            let found = "77 found among the conversations back to 1970-01-01 00:00:00 UTC.";
            assert!(page.contains(found), "{page}");
            assert!(!page.contains("newest 500 matches"), "{page}");
            assert!(!page.contains("No conversation matches"), "{page}");
        };
        check(false, Some("/dashboard?page=1"));
        check(true, None);
    }

    #[test]
    fn scripts_in_any_field_are_text() {
        let script = "<script>alert(1)</script>".to_owned();
        let row = ConversationRow {
            id: "c".to_owned(),
            title: script.clone(),
            first_input: script.clone(),
            last_output: script.clone(),
            agent: script.clone(),
            owner: script.clone(),
            is_archived: true,
            outcome: Some(Outcome::Failed),
            messages: 1,
            errors: 1,
            tokens: 1_000,
            last_event_at: Timestamp(0),
        };
        let page = page(&script, &[row], Freshness::None);
        assert!(!page.contains("<script>alert"), "{page}");
        assert_eq!(page.matches("&lt;script&gt;alert").count(), 5);
    }
}
