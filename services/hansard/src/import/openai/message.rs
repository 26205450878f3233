//! Parses one message: its content and tool calls, or a tool result.

use domain::Violation;
use prost_types::Timestamp;
use wire::proto::event::v1 as proto;
use wire::proto::event::v1::event::Fact;

use super::content;
use super::tools::{self, NewFact};
use crate::import::fields::{Fields, joined, malformed};
use crate::import::{Dialogue, SourceEvent, instant};

/// Parses one message and appends its events. `index` counts from 0; `created_at` is for messages without a time.
pub(super) fn read_message(
    text: &str,
    index: usize,
    created_at: Option<Timestamp>,
    dialogue: &mut Dialogue,
) -> Result<(), Violation> {
    let mut fields = Fields::parse(text)?;
    let role: String = fields.require_as("role")?;
    let occurred_at = occurred_at(&mut fields)?.or(created_at);
    let first = dialogue.events.len();
    let facts = match role.as_str() {
        "system" => vec![content_message(proto::Role::System, &mut fields)?],
        "developer" => vec![content_message(proto::Role::Developer, &mut fields)?],
        "user" => vec![content_message(proto::Role::User, &mut fields)?],
        "assistant" => assistant(&mut fields, index, dialogue)?,
        "tool" => vec![Fact::ToolReturned(tools::result(&mut fields)?).into()],
        _ => {
            let roles = "must be system, developer, user, assistant or tool";
            return Err(malformed(roles).within("role"));
        }
    };
    for new in facts {
        let event = proto::Event {
            occurred_at,
            metadata_json: new.metadata_json,
            fact: Some(new.fact),
            ..proto::Event::default()
        };
        dialogue.events.push(SourceEvent { message: index, event });
    }
    // The unknown members of a message are added to the metadata of its first event.
    if let Some(placed) = dialogue.events.get_mut(first) {
        placed.event.metadata_json = joined(&placed.event.metadata_json, &fields.rest());
    }
    Ok(())
}

fn occurred_at(fields: &mut Fields<'_>) -> Result<Option<Timestamp>, Violation> {
    for name in ["created_at", "timestamp"] {
        if let Some(time) = fields.take(name) {
            return instant::from_json(time).map(Some).map_err(|violation| violation.within(name));
        }
    }
    Ok(None)
}

fn content_message(role: proto::Role, fields: &mut Fields<'_>) -> Result<NewFact, Violation> {
    let content = fields.require("content")?;
    let parts = content::parts(content).map_err(|violation| violation.within("content"))?;
    message(role, parts, fields).map(Into::into)
}

fn message(role: proto::Role, parts: Vec<proto::Part>, fields: &mut Fields<'_>) -> Result<Fact, Violation> {
    Ok(Fact::MessageAppended(proto::MessageAppended {
        role: role.into(),
        parts,
        author: fields.take_text("name")?,
        model: fields.take_text("model")?,
        ..proto::MessageAppended::default()
    }))
}

fn assistant(fields: &mut Fields<'_>, index: usize, dialogue: &mut Dialogue) -> Result<Vec<NewFact>, Violation> {
    let mut parts = fields
        .take("content")
        .map(content::parts)
        .transpose()
        .map_err(|violation| violation.within("content"))?
        .unwrap_or_default();
    if let Some(refusal) = fields.take_as("refusal")? {
        let kind = Some(proto::part::Kind::Refusal(refusal));
        parts.push(proto::Part { kind });
    }
    let mut remarks = Vec::new();
    let calls = tools::calls(fields, &mut remarks).map_err(|violation| violation.within("tool_calls"))?;
    let remarks = remarks.into_iter().map(|remark| format!("messages[{index}].{remark}"));
    dialogue.remarks.extend(remarks);
    let mut facts = Vec::with_capacity(calls.len() + 1);
    if !parts.is_empty() || calls.is_empty() || follows_assistant(dialogue) {
        facts.push(message(proto::Role::Assistant, parts, fields)?.into());
    }
    facts.extend(calls);
    Ok(facts)
}

/// Whether calls without a message of their own would be assigned to a previous message of the assistant.
fn follows_assistant(dialogue: &Dialogue) -> bool {
    let last = dialogue.events.last();
    match last.and_then(|placed| placed.event.fact.as_ref()) {
        Some(Fact::MessageAppended(message)) => message.role() == proto::Role::Assistant,
        Some(Fact::ToolCalled(_)) => true,
        _ => false,
    }
}
