//! One message: what is said, then the calls that it makes, or the result of one.

use domain::Violation;
use prost_types::Timestamp;
use wire::proto::event::v1 as proto;
use wire::proto::event::v1::event::Fact;

use super::new_fact::NewFact;
use super::{content, tools};
use crate::import::fields::{Fields, joined, malformed, missing};
use crate::import::{Dialogue, PlacedEvent, instant};

/// Where a message stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Its place in the list, from 0.
    pub(super) index: usize,
    /// The conversation's time, for a message without one of its own.
    pub(super) created_at: Option<Timestamp>,
}

/// Appends the events of one message.
pub(super) fn read_message(
    text: &str,
    place: Place,
    dialogue: &mut Dialogue,
) -> Result<(), Violation> {
    let mut fields = Fields::parse(text)?;
    let role = fields.require_text("role")?;
    let occurred_at = occurred_at(&mut fields)?.or(place.created_at);
    let first = dialogue.events.len();
    let facts = match role.as_str() {
        "system" => vec![spoken(proto::Role::System, &mut fields)?],
        "developer" => vec![spoken(proto::Role::Developer, &mut fields)?],
        "user" => vec![spoken(proto::Role::User, &mut fields)?],
        "assistant" => assistant(&mut fields, place.index, dialogue)?,
        "tool" => vec![Fact::ToolReturned(tools::result(&mut fields)?).into()],
        _ => {
            let taken = "is none of system, developer, user, assistant, tool";
            return Err(malformed(taken).within("role"));
        }
    };
    for NewFact {
        fact,
        metadata_json,
    } in facts
    {
        let event = proto::Event {
            occurred_at,
            metadata_json,
            fact: Some(fact),
            ..proto::Event::default()
        };
        dialogue.events.push(PlacedEvent {
            message: place.index,
            event,
        });
    }
    keep_rest(&fields, first, dialogue);
    Ok(())
}

/// The message's members that have no place of their own stay with its first event.
fn keep_rest(fields: &Fields<'_>, first: usize, dialogue: &mut Dialogue) {
    if let Some(placed) = dialogue.events.get_mut(first) {
        placed.event.metadata_json = joined(&placed.event.metadata_json, &fields.rest());
    }
}

fn occurred_at(fields: &mut Fields<'_>) -> Result<Option<Timestamp>, Violation> {
    for name in ["created_at", "timestamp"] {
        if let Some(time) = fields.take(name) {
            return instant::from_json(time)
                .map(Some)
                .map_err(|violation| violation.within(name));
        }
    }
    Ok(None)
}

fn spoken(role: proto::Role, fields: &mut Fields<'_>) -> Result<NewFact, Violation> {
    let content = fields
        .take("content")
        .ok_or_else(|| missing().within("content"))?;
    let parts = content::parts(content).map_err(|violation| violation.within("content"))?;
    message(role, parts, fields).map(Into::into)
}

fn message(
    role: proto::Role,
    parts: Vec<proto::Part>,
    fields: &mut Fields<'_>,
) -> Result<Fact, Violation> {
    Ok(Fact::MessageAppended(proto::MessageAppended {
        role: role.into(),
        parts,
        author: fields.take_text("name")?,
        model: fields.take_text("model")?,
        ..proto::MessageAppended::default()
    }))
}

fn assistant(
    fields: &mut Fields<'_>,
    index: usize,
    dialogue: &mut Dialogue,
) -> Result<Vec<NewFact>, Violation> {
    let mut parts = match fields.take("content") {
        Some(content) => {
            content::parts(content).map_err(|violation| violation.within("content"))?
        }
        None => Vec::new(),
    };
    if let Some(refusal) = fields.take_as("refusal")? {
        parts.push(proto::Part {
            kind: Some(proto::part::Kind::Refusal(refusal)),
        });
    }
    let mut remarks = Vec::new();
    let calls =
        tools::calls(fields, &mut remarks).map_err(|violation| violation.within("tool_calls"))?;
    dialogue.remarks.extend(
        remarks
            .into_iter()
            .map(|remark| format!("messages[{index}].{remark}")),
    );
    let mut facts = Vec::with_capacity(calls.len() + 1);
    if !parts.is_empty() || calls.is_empty() || follows_assistant(dialogue) {
        facts.push(message(proto::Role::Assistant, parts, fields)?.into());
    }
    facts.extend(calls);
    Ok(facts)
}

/// Calls belong to the assistant's message before them; without one of their own they would join that.
fn follows_assistant(dialogue: &Dialogue) -> bool {
    match dialogue
        .events
        .last()
        .and_then(|placed| placed.event.fact.as_ref())
    {
        Some(Fact::MessageAppended(message)) => message.role() == proto::Role::Assistant,
        Some(Fact::ToolCalled(_)) => true,
        _ => false,
    }
}
