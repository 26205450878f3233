//! Parked conversations, with what operators may request for them.

use maud::{Markup, html};

use super::SystemPage;
use crate::components::{Column, EmptyState, empty, form, number, table};
use crate::layout::Person;

/// A conversation that cannot be projected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedRow {
    /// Its tenant.
    pub tenant: String,
    /// The conversation.
    pub conversation: String,
    /// The sequence of the commit that failed, the first that waits.
    pub sequence: u64,
    /// Why.
    pub reason: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Number of waiting commits.
    pub commits: u64,
}

pub(super) fn parked(page: SystemPage<'_>) -> Markup {
    let none = EmptyState { title: "None", detail: "Every conversation is projected.", action: None };
    let columns = ["Conversation", "Reason", "Sequence", "Waiting", "Tried", "Action"].map(Column::text);
    let rows: Vec<Markup> = page.parked.iter().map(|row| parked_row(&page.person, row)).collect();
    html! {
        @if rows.is_empty() {
            (empty(none))
        } @else {
            p.muted {
                "A retry projects the waiting commits again. A drop gives up one commit: readers never see its events; the record keeps \
                 it. A projector carries out what is requested within seconds; reload the page to see the result."
            }
            (table("Parked conversations", &columns, &rows))
            @if page.has_more_parked { p { "There are more: run " code { "hansard parked list" } "." } }
        }
    }
}

fn parked_row(person: &Person<'_>, row: &ParkedRow) -> Markup {
    let names = html! {
        input type="hidden" name="tenant" value=(row.tenant);
        input type="hidden" name="conversation" value=(row.conversation);
    };
    let retry = html! { (names) button type="submit" { "Retry" } };
    let drop = html! {
        (names)
        input type="hidden" name="sequence" value=(row.sequence);
        label { "Type the id of the conversation " input type="text" name="confirmation" required autocomplete="off" spellcheck="false"; }
        " " button.danger type="submit" { "Drop the commit at sequence " (row.sequence) }
    };
    html! {
        tr {
            th scope="row" { (row.tenant) " / " code { (row.conversation) } }
            td { (row.reason) }
            td { (row.sequence) }
            td.waiting { (number(row.commits)) }
            td.attempts { (row.attempts) }
            td {
                (form(person, "/dashboard/system/parked/retry", &retry))
                details {
                    summary { "Drop…" }
                    (form(person, "/dashboard/system/parked/drop", &drop))
                }
            }
        }
    }
}
