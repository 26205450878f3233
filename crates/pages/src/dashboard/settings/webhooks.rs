//! `/dashboard/settings/agents/{agent}/webhooks`: the webhooks of an agent's tools, their secret, and recent calls.

use domain::{Timestamp, Version};
use maud::{Markup, html};

use super::{NewSecret, Tab, agent_path, frame, new_secret, tabs};
use crate::components::{Column, EmptyState, Tone, bytes, duration, empty, form, notice, number, table, time};
use crate::dashboard::transcript::event_url;
use crate::layout::{Freshness, Person, document};

/// A tool with a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRow {
    /// The name of the tool.
    pub tool: String,
    /// Where calls are posted.
    pub url: String,
    /// Whether a person approves each call.
    pub needs_approval: bool,
    /// The timeout in milliseconds; 0: the default.
    pub timeout_ms: u32,
}

/// A recorded call of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    /// When its result was recorded.
    pub at: Timestamp,
    /// When the call was recorded; `None`: it is not among the events that were read.
    pub called_at: Option<Timestamp>,
    /// The name of the tool.
    pub tool: String,
    /// The conversation.
    pub conversation: String,
    /// The version of the result.
    pub version: Version,
    /// What became of the call, such as `succeeded`.
    pub outcome: &'static str,
    /// Why it has failed, such as `the tool answered with status 500`.
    pub failure: Option<String>,
    /// The bytes of the result.
    pub size_bytes: u64,
}

/// The values of the page.
#[derive(Clone, Copy)]
pub struct WebhooksPage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// The agent.
    pub agent: &'a str,
    /// The webhooks.
    pub webhooks: &'a [WebhookRow],
    /// The recent calls, the newest first.
    pub deliveries: &'a [DeliveryRow],
    /// In how many conversations they were searched.
    pub conversations_max: u32,
    /// The secret that was created.
    pub new: Option<NewSecret<'a>>,
    /// What is wrong with the form that was sent.
    pub error: Option<&'a str>,
    /// Up to when the calls are complete.
    pub freshness: Freshness,
}

/// The webhooks and their recent calls.
#[must_use]
pub fn webhooks(page: WebhooksPage<'_>) -> Markup {
    let title = format!("Webhooks of {}", page.agent);
    let mut frame = frame(page.person, &title);
    frame.freshness = page.freshness;
    let columns = ["Tool", "URL", "Approval", "Timeout"].map(Column::text);
    let rows: Vec<Markup> = page.webhooks.iter().map(webhook).collect();
    let settings = agent_path(page.agent);
    let none = EmptyState {
        title: "No webhooks",
        detail: "A tool with a webhook URL is called by the gateway.",
        action: Some(("Change the tools", &settings)),
    };
    let main = html! {
        (tabs(page.agent, Tab::Webhooks))
        @if let Some(new) = page.new { (new_secret(new)) }
        @if let Some(error) = page.error { (notice(Tone::Bad, error)) }
        @if rows.is_empty() { (empty(none)) } @else { (table("Webhooks", &columns, &rows)) }
        section.card.stacked { h2 { "Secret" } (secret(page)) }
        (deliveries(page))
    };
    document(&frame, &main)
}

fn webhook(row: &WebhookRow) -> Markup {
    html! {
        tr {
            th scope="row" { code { (row.tool) } }
            td.mono { (row.url) }
            td { @if row.needs_approval { "each call" } @else { "none" } }
            td { @if row.timeout_ms == 0 { "default" } @else { (number(row.timeout_ms.into())) " ms" } }
        }
    }
}

fn secret(page: WebhooksPage<'_>) -> Markup {
    let content = html! {
        p.muted { "Calls are signed with a secret of the agent. A new secret replaces it." }
        div.field {
            label for="overlap" { "Calls carry both signatures for, in seconds" }
            input #overlap type="number" name="overlap" min="0" max="2592000" value="86400" required;
        }
        button type="submit" { "Create a new secret" }
    };
    let path = format!("{}/secret", Tab::Webhooks.path(page.agent));
    form(&page.person, &path, &content)
}

fn deliveries(page: WebhooksPage<'_>) -> Markup {
    let columns = [
        Column::text("Time"),
        Column::text("Tool"),
        Column::text("Conversation"),
        Column::text("Outcome"),
        Column::number("From call to result"),
        Column::number("Result"),
    ];
    let rows: Vec<Markup> = page.deliveries.iter().map(delivery).collect();
    let conversations = number(page.conversations_max.into());
    html! {
        h2 { "Recent calls" }
        p.muted { "Searched in the " (conversations) " conversations of the agent that changed last." }
        @if rows.is_empty() {
            p { "No call of a webhook was found." }
        } @else {
            (table("Recent calls, the newest first", &columns, &rows))
        }
    }
}

fn delivery(row: &DeliveryRow) -> Markup {
    html! {
        tr {
            td.nowrap { (time(row.at)) }
            th scope="row" { code { (row.tool) } }
            td { a.mono data-row href=(event_url(&row.conversation, row.version)) { (row.conversation) } }
            td { (row.outcome) @if let Some(failure) = &row.failure { ": " (failure) } }
            td.number { @if let Some(called_at) = row.called_at { (duration(called_at, row.at)) } }
            td.number { (bytes(row.size_bytes)) }
        }
    }
}
