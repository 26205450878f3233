//! `/dashboard/audit`: who viewed, exported, erased and changed what.

use domain::Timestamp;
use maud::{Markup, html};

use crate::components::{Column, EmptyState, PageLinks, empty, pagination, table, time};
use crate::layout::{Frame, Freshness, Person, Section, document};

/// An entry of the log.
#[derive(Debug, Clone)]
pub struct AuditRow {
    /// When it was recorded.
    pub at: Timestamp,
    /// The person.
    pub name: String,
    /// The person's role at that time.
    pub role: String,
    /// What the person did, such as `exported`.
    pub action: String,
    /// The conversation that it was done to.
    pub conversation: Option<String>,
    /// More about it.
    pub detail: String,
}

/// The values of the page.
#[derive(Clone, Copy)]
pub struct AuditLogPage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// The shown month.
    pub month: &'a str,
    /// The month before.
    pub earlier: &'a str,
    /// The month after; `None`: the shown month is the current one.
    pub later: Option<&'a str>,
    /// The entries, the newest first.
    pub rows: &'a [AuditRow],
    /// The other pages of the month.
    pub links: PageLinks<'a>,
    /// Up to when the log is complete.
    pub freshness: Freshness,
}

/// The audit log of a month.
#[must_use]
pub fn audit_log(page: AuditLogPage<'_>) -> Markup {
    let frame = Frame {
        title: "Audit log",
        person: Some(page.person),
        section: Some(Section::Audit),
        freshness: page.freshness,
    };
    let columns = ["Time", "Person", "Role", "Action", "Conversation", "Detail"].map(Column::text);
    let rows: Vec<Markup> = page.rows.iter().map(row).collect();
    let nothing = format!("Nobody used the dashboard in {} (UTC).", page.month);
    let none = EmptyState { title: "No entries", detail: &nothing, action: None };
    let main = html! {
        nav.row aria-label="Months" {
            a.button href={ "/dashboard/audit?month=" (page.earlier) } { "← " (page.earlier) }
            strong { (page.month) }
            @if let Some(later) = page.later {
                a.button href={ "/dashboard/audit?month=" (later) } { (later) " →" }
            }
        }
        @if rows.is_empty() {
            (empty(none))
        } @else {
            (table("Entries, the newest first", &columns, &rows))
        }
        (pagination(page.links))
    };
    document(&frame, &main)
}

fn row(row: &AuditRow) -> Markup {
    html! {
        tr {
            td.nowrap { (time(row.at)) }
            th scope="row" { (row.name) }
            td { (row.role) }
            td { (row.action) }
            td {
                @if let Some(id) = &row.conversation {
                    a.mono data-row href={ "/dashboard/conversations/" (id) } { (id) }
                }
            }
            td { (row.detail) }
        }
    }
}
