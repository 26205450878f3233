//! `/dashboard/audit`: who viewed, exported, erased and changed what.
//!
//! People of the dashboard, administrators with tokens, and service tokens. A filter is a form without scripts.

use domain::Timestamp;
use maud::{Markup, html};

use crate::components::{Column, EmptyState, PageLinks, empty, pagination, table, time};
use crate::layout::{Frame, Freshness, Person, Section, document};

/// An entry of the log.
#[derive(Debug, Clone)]
pub struct AuditRow {
    /// When it was recorded.
    pub at: Timestamp,
    /// The kind of the actor, such as `person`.
    pub actor_kind: &'static str,
    /// The name of the person, the administrator or the service token.
    pub name: String,
    /// The role at that time.
    pub role: String,
    /// What the actor did, such as `exported`.
    pub action: String,
    /// The conversation that it was done to.
    pub conversation: Option<String>,
    /// More about it.
    pub detail: String,
}

/// The values of the filter; empty: all entries.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditFilterForm<'a> {
    /// The kind of the actor.
    pub actor: &'a str,
    /// The name of the actor.
    pub name: &'a str,
    /// What was done.
    pub action: &'a str,
    /// The conversation.
    pub conversation: &'a str,
    /// The same as parameters of a URL after the month, such as `&actor=person`; empty without a filter.
    pub query: &'a str,
}

/// The kinds of actors, for the filter.
const ACTORS: [(&str, &str); 4] = [
    ("", "Anybody"),
    ("person", "Person"),
    ("administrator", "Administrator with a token"),
    ("service_token", "Service token"),
];

/// The actions, for the filter.
const ACTIONS: [(&str, &str); 7] = [
    ("", "Any action"),
    ("signed_in", "signed_in"),
    ("signed_out", "signed_out"),
    ("viewed", "viewed"),
    ("exported", "exported"),
    ("erased", "erased"),
    ("changed", "changed"),
];

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
    /// The filter.
    pub filter: AuditFilterForm<'a>,
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
    let columns = ["Time", "Actor", "Name", "Role", "Action", "Conversation", "Detail"].map(Column::text);
    let rows: Vec<Markup> = page.rows.iter().map(row).collect();
    let nothing = if page.filter.query.is_empty() {
        format!("Nothing was recorded in {} (UTC).", page.month)
    } else {
        format!("No examined entry of {} (UTC) matches the filter.", page.month)
    };
    let none = EmptyState { title: "No entries", detail: &nothing, action: None };
    let main = html! {
        nav.row aria-label="Months" {
            a.button href={ "/dashboard/audit?month=" (page.earlier) (page.filter.query) } { "← " (page.earlier) }
            strong { (page.month) }
            @if let Some(later) = page.later {
                a.button href={ "/dashboard/audit?month=" (later) (page.filter.query) } { (later) " →" }
            }
        }
        (filter(&page))
        @if rows.is_empty() {
            (empty(none))
        } @else {
            (table("Entries, the newest first", &columns, &rows))
        }
        (pagination(page.links))
    };
    document(&frame, &main)
}

fn filter(page: &AuditLogPage<'_>) -> Markup {
    let AuditFilterForm { actor, name, action, conversation, query } = page.filter;
    html! {
        form.filter method="get" action="/dashboard/audit" role="search" {
            input type="hidden" name="month" value=(page.month);
            (select("actor", "Actor", &ACTORS, actor))
            (select("action", "Action", &ACTIONS, action))
            label.visually-hidden for="name" { "Name" }
            input #name type="search" name="name" value=(name) placeholder="Name" autocomplete="off" spellcheck="false" maxlength="256";
            label.visually-hidden for="conversation" { "Conversation" }
            input #conversation type="search" name="conversation" value=(conversation) placeholder="Conversation" autocomplete="off"
                spellcheck="false" maxlength="128";
            button type="submit" { "Filter" }
            @if !query.is_empty() {
                a.button.quiet href={ "/dashboard/audit?month=" (page.month) } { "Clear" }
            }
        }
    }
}

fn select(name: &str, label: &str, choices: &[(&str, &str)], chosen: &str) -> Markup {
    html! {
        label.visually-hidden for=(name) { (label) }
        select id=(name) name=(name) {
            @for (value, text) in choices { option value=(value) selected[*value == chosen] { (text) } }
        }
    }
}

fn row(row: &AuditRow) -> Markup {
    html! {
        tr {
            td.nowrap { (time(row.at)) }
            td.nowrap { (row.actor_kind) }
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
