//! `/dashboard/search`: texts of the tenant's conversations that contain words.

use domain::{Timestamp, Version};
use maud::{Markup, html};

use super::transcript::{event_url, path};
use crate::components::{EmptyState, PageLinks, Tone, badge, empty, notice, number, pagination, time};
use crate::layout::{Frame, Freshness, Person, Section, document};

/// The path of the page.
pub const PATH: &str = "/dashboard/search";

/// A text that matches.
#[derive(Debug, Clone)]
pub struct FoundText {
    /// The conversation.
    pub conversation: String,
    /// Its title; empty: none.
    pub title: String,
    /// Its agent.
    pub agent: String,
    /// The user who owns it; `None`: another owner.
    pub owner: Option<String>,
    /// What matches: a title, or a message, tool call or result, with its role or tool.
    pub kind: String,
    /// The event; `None`: the title matches.
    pub version: Option<Version>,
    /// When it was recorded.
    pub at: Timestamp,
    /// Whether a rewind hides it.
    pub is_rewound: bool,
    /// The text around the first match: each part, and whether it matches.
    pub snippet: Vec<(String, bool)>,
}

/// The values of the page.
#[derive(Clone, Copy)]
pub struct SearchPage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// The query; empty: nothing was searched.
    pub query: &'a str,
    /// What is wrong with the query, and how to correct it.
    pub error: Option<&'a str>,
    /// What matches, the newest first.
    pub found: &'a [FoundText],
    /// The number of texts that contain the words, and whether there are more; only on the first page.
    pub count: Option<(u32, bool)>,
    /// Whether conversations of some agents are being indexed again.
    pub is_reindexing: bool,
    /// The other pages.
    pub links: PageLinks<'a>,
    /// Up to when the index is complete.
    pub freshness: Freshness,
}

/// The search, and what it found.
#[must_use]
pub fn search(page: SearchPage<'_>) -> Markup {
    let frame = Frame {
        title: "Search",
        person: Some(page.person),
        section: Some(Section::Conversations),
        freshness: page.freshness,
    };
    let main = html! {
        (form(&page))
        @if page.is_reindexing {
            (notice(Tone::Neutral, "Conversations of some agents are being indexed again: results may be missing."))
        }
        @if let Some((count, is_capped)) = page.count {
            p.muted role="status" {
                @if is_capped { "At least " }
                (number(u64::from(count))) " texts contain the words."
            }
        }
        @if !page.found.is_empty() {
            ol.found { @for found in page.found { (item(found)) } }
        } @else if !page.query.is_empty() && page.error.is_none() {
            (nothing(page.links))
        }
        (pagination(page.links))
    };
    document(&frame, &main)
}

/// A page without results. Only the first page, if it is the last as well, shows that no text contains the words.
fn nothing(links: PageLinks<'_>) -> Markup {
    let (title, detail) = if links.next.is_some() {
        let detail = "None of the texts that were examined for this page contains all of these words. Go to the next page to look further back, or add a filter.";
        ("Nothing on this page", detail)
    } else if links.first.is_some() {
        let detail = "No older text contains all of these words.";
        ("No more results", detail)
    } else {
        let detail = "No text contains all of these words. Use fewer words, or remove a filter.";
        ("Nothing found", detail)
    };
    empty(EmptyState { title, detail, action: None })
}

fn form(page: &SearchPage<'_>) -> Markup {
    let is_wrong = page.error.is_some();
    html! {
        form.filter method="get" action=(PATH) role="search" {
            label.visually-hidden for="query" { "Search" }
            input #query type="search" name="q" value=(page.query) data-filter autocomplete="off" maxlength="512"
                placeholder="Words, \"a phrase\", -without, role:user, tool:name, agent:name, after:2026-01-31"
                aria-invalid=[is_wrong.then_some("true")] aria-describedby=[is_wrong.then_some("query-error")];
            button type="submit" { "Search" }
            a.button.quiet data-back href="/dashboard" { "Conversations" }
        }
        @if let Some(error) = page.error {
            div.notice.bad #query-error role="alert" { (error) }
        }
    }
}

fn item(found: &FoundText) -> Markup {
    let href = match found.version {
        Some(version) => event_url(&found.conversation, version),
        None => path(&found.conversation),
    };
    let title = if found.title.is_empty() { &found.conversation } else { &found.title };
    html! {
        li.event {
            div.row {
                a data-row href=(href) { (title) }
                (badge(Tone::Neutral, &found.kind))
                @if found.is_rewound { (badge(Tone::Warn, "rewound")) }
                span.muted { (found.agent) @if let Some(owner) = &found.owner { " · " (owner) } " · " (time(found.at)) }
            }
            p dir="auto" {
                @for (text, is_match) in &found.snippet {
                    @if *is_match { mark { (text) } } @else { (text) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use identity::Role;

    use super::*;

    /// The page of a search that found nothing.
    fn empty_page(links: PageLinks<'_>) -> String {
        let page = SearchPage {
            person: Person { name: "ada", tenant: "acme", role: Role::Viewer, form_token: "t" },
            query: "parcel",
            error: None,
            found: &[],
            count: None,
            is_reindexing: false,
            links,
            freshness: Freshness::None,
        };
        search(page).into_string()
    }

    #[test]
    fn only_a_complete_search_found_nothing() {
        let check = |first, next, expected: &str| {
            let page = empty_page(PageLinks { first, next });
            for text in ["Nothing found", "Nothing on this page", "No more results"] {
                assert_eq!(page.contains(text), text == expected, "{text}: {page}");
            }
        };
        let url = Some("/dashboard/search?q=parcel");
        check(None, None, "Nothing found");
        check(None, url, "Nothing on this page");
        check(url, url, "Nothing on this page");
        check(url, None, "No more results");
    }
}
