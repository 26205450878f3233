//! `/dashboard`: the list of conversations.

use domain::Timestamp;
use maud::{Markup, html};

use crate::components::{Column, EmptyState, PageLinks, empty, pagination, table, time};
use crate::layout::{Frame, Freshness, Person, Section, document};

/// A conversation of the list.
#[derive(Debug, Clone)]
pub struct ConversationRow {
    /// Its id.
    pub id: String,
    /// The title; empty: none.
    pub title: String,
    /// The agent.
    pub agent: String,
    /// When its last event was recorded.
    pub last_event_at: Timestamp,
}

/// The values of the page.
#[derive(Clone, Copy)]
pub struct ConversationsPage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// The conversations.
    pub rows: &'a [ConversationRow],
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
        Column::text("Agent"),
        Column::text("Last activity"),
    ];
    let rows: Vec<Markup> = page.rows.iter().map(row).collect();
    let none = EmptyState {
        title: "No conversations yet",
        detail: "A conversation appears here as soon as an agent has recorded one.",
        action: None,
    };
    let main = html! {
        @if rows.is_empty() {
            (empty(none))
        } @else {
            (table("Conversations", &columns, &rows))
        }
        (pagination(page.links))
    };
    document(&frame, &main)
}

fn row(row: &ConversationRow) -> Markup {
    let title = if row.title.is_empty() {
        &row.id
    } else {
        &row.title
    };
    html! {
        tr {
            th scope="row" {
                a.excerpt data-row href={ "/dashboard/conversations/" (row.id) } dir="auto" { (title) }
            }
            td { (row.agent) }
            td.nowrap { (time(row.last_event_at)) }
        }
    }
}
