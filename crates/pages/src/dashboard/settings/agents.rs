//! `/dashboard/settings`: the agents of the tenant.

use maud::{Markup, html};

use super::{SIGNING_KEYS_PATH, Tab, frame};
use crate::components::{Column, EmptyState, empty, table};
use crate::layout::{Person, document};

/// An agent in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRow {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its model with its server; empty: none.
    pub model: String,
    /// How many tools it has.
    pub tools: usize,
}

/// The values of the page.
#[derive(Clone, Copy)]
pub struct AgentsPage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// The agents, by id.
    pub agents: &'a [AgentRow],
}

/// The list of agents.
#[must_use]
pub fn agents(page: AgentsPage<'_>) -> Markup {
    let columns = [
        Column::text("Agent"),
        Column::text("Name"),
        Column::text("Model"),
        Column::number("Tools"),
        Column::text("Pages"),
    ];
    let rows: Vec<Markup> = page.agents.iter().map(row).collect();
    let none =
        EmptyState { title: "No agents", detail: "Create one: hansard agent create ID --tenant TENANT", action: None };
    let main = html! {
        p { a.button href=(SIGNING_KEYS_PATH) { "Signing keys" } }
        @if rows.is_empty() { (empty(none)) } @else { (table("Agents", &columns, &rows)) }
    };
    document(&frame(page.person, "Settings"), &main)
}

fn row(agent: &AgentRow) -> Markup {
    let others = [Tab::Policy, Tab::Keys, Tab::Webhooks];
    html! {
        tr {
            th scope="row" { a.mono data-row href=(Tab::Settings.path(&agent.id)) { (agent.id) } }
            td dir="auto" { (agent.name) }
            td.mono { @if agent.model.is_empty() { span.muted { "none" } } @else { (agent.model) } }
            td.number { (agent.tools) }
            td { div.row { @for tab in others { a href=(tab.path(&agent.id)) { (tab.name()) } } } }
        }
    }
}
