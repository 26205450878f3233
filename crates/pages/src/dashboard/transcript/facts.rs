//! The facts of a conversation, and what may be done with it.

use domain::{ClientContext, Conversation, Owner, Status};
use identity::Role;
use maud::{Markup, html};

use super::path;
use crate::components::{Tone, badge, form, indented_json, number, time, tokens};
use crate::layout::Person;

/// The owner as pages name it.
pub(super) fn owner(owner: &Owner) -> (&'static str, &str) {
    match owner {
        Owner::User(id) => ("user", id.as_str()),
        Owner::Session(id) => ("session", id.as_str()),
        Owner::Channel(id) => ("channel", id.as_str()),
    }
}

/// Agent, owner, times and totals.
pub(super) fn facts(conversation: &Conversation) -> Markup {
    let head = &conversation.head;
    let owner = head.owner.as_ref().map(owner);
    let totals = head.totals;
    html! {
        dl.facts.card {
            dt { "Conversation" } dd { code { (conversation.id) } }
            dt { "Status" }
            dd {
                @match head.status {
                    Status::Active => (badge(Tone::Good, "active")),
                    Status::Archived => (badge(Tone::Warn, "archived")),
                    Status::Erased => (badge(Tone::Bad, "erased")),
                }
                @if head.active_run.is_some() { " " (badge(Tone::Neutral, "answering")) }
            }
            dt { "Agent" } dd { (head.agent) }
            @if let Some((kind, id)) = owner {
                dt { "Owner" } dd { (kind) " " span dir="auto" { (id) } }
            }
            dt { "Created" } dd { (time(conversation.created_at)) }
            dt { "Last event" } dd { (time(head.last_event_at)) }
            dt { "Events" } dd { (number(head.version.0)) ", of them messages: " (number(totals.messages)) }
            dt { "Tokens of models" }
            dd {
                "read " (tokens(totals.input_tokens)) " (cached " (tokens(totals.cached_tokens)) "), written "
                (tokens(totals.output_tokens))
            }
            @if !head.open_calls.is_empty() {
                dt { "Open calls" }
                dd {
                    @for call in &head.open_calls {
                        a href={ "?at=" (call.version) "#v" (call.version) } { (call.tool_name) } " "
                    }
                }
            }
            (client(&conversation.client_context))
            @if let Some(metadata) = &conversation.metadata {
                dt { "Metadata" } dd { (document(metadata.as_str())) }
            }
        }
    }
}

/// The client, as it described itself. URLs are texts: a link would send the reader to a page that a stranger chose.
fn client(client: &ClientContext) -> Markup {
    let fields = [
        ("Page", &client.page_url),
        ("Referrer", &client.referrer),
        ("User agent", &client.user_agent),
        ("Locale", &client.locale),
        ("Time zone", &client.timezone),
    ];
    html! {
        @for (name, value) in fields {
            @if let Some(value) = value {
                dt { (name) } dd dir="auto" { (value) }
            }
        }
        @if let Some(metadata) = &client.custom_metadata {
            dt { "Client metadata" } dd { (document(metadata.as_str())) }
        }
    }
}

fn document(json: &str) -> Markup {
    html! {
        details.json { summary { "JSON" } pre tabindex="0" { code { (indented_json(json)) } } }
    }
}

/// Forms and links, as the role allows.
pub(super) fn actions(person: &Person<'_>, conversation: &Conversation) -> Markup {
    let path = path(conversation.id.as_str());
    let is_archived = conversation.head.status == Status::Archived;
    let title = conversation.title.as_deref().unwrap_or_default();
    let rename = html! {
        label for="title" { "Title" }
        input #title type="text" name="title" value=(title) maxlength="1024" disabled[is_archived];
        button type="submit" disabled[is_archived] { "Save title" }
    };
    let archive = html! { button type="submit" { @if is_archived { "Restore" } @else { "Archive" } } };
    let change = if is_archived { "restore" } else { "archive" };
    html! {
        div.row.actions {
            a.button href={ (path) "/context" } { "What the model reads" }
            @if person.role >= Role::Support {
                (form(person, &format!("{path}/title"), &rename))
                (form(person, &format!("{path}/{change}"), &archive))
                details.menu {
                    summary.button { "Export" }
                    ul.card {
                        @for (format, name) in EXPORTS {
                            li { a href={ (path) "/export?format=" (format) } download { (name) } }
                        }
                    }
                }
                a.button.danger href={ (path) "/erase" } { "Erase…" }
            }
        }
    }
}

/// The formats of exports, with their names.
const EXPORTS: [(&str, &str); 4] =
    [("ndjson", "JSON Lines"), ("csv", "CSV"), ("openai", "OpenAI messages"), ("json", "JSON with hash chain")];
