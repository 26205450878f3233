//! Parses the messages of a request into facts.

use domain::event::{MessageAppended, Role, ToolOutcome, ToolOutput, ToolReturned};
use domain::{Fact, Part};
use serde::Deserialize;

use super::incoming::{self, IncomingMessage};
use super::render::NOTHING_SAID;
use super::{FORMAT, PROVIDER};
use crate::chat::open_calls::OpenCalls;
use crate::reply::ParseError;
use crate::values;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    messages: Vec<IncomingMessage<'a>>,
}

/// Parses the `messages` of any valid request, in order.
///
/// Each assistant message is a fact; it has no parts if it only calls tools. Its provider is OpenAI. The text of a tool is a
/// document if it is JSON. Parts of unknown types become provider items.
///
/// # Errors
/// [`ParseError::Malformed`] or [`ParseError::Unusable`].
pub fn parse_history(body: &[u8]) -> Result<Vec<Fact>, ParseError> {
    let request: Request<'_> = serde_json::from_slice(body).map_err(|error| values::malformed(FORMAT, &error))?;
    let (mut facts, mut calls) = (Vec::new(), OpenCalls::default());
    for (index, message) in request.messages.iter().enumerate() {
        let field = format!("messages[{index}]");
        match message.role.as_deref() {
            Some("system") => facts.push(message_fact(&field, Role::System, message)?),
            Some("developer") => facts.push(message_fact(&field, Role::Developer, message)?),
            Some("user") => facts.push(message_fact(&field, Role::User, message)?),
            Some("assistant") => {
                facts.push(message_fact(&field, Role::Assistant, message)?);
                facts.append(&mut calls.called(&field, PROVIDER, message.calls())?);
            }
            Some("tool" | "function") => facts.push(returned(&mut calls, &field, message)?),
            Some(_) | None => {
                let reason = format!("{field}.role is not a role of the format");
                return Err(ParseError::malformed(FORMAT, reason));
            }
        }
    }
    if let [Fact::MessageAppended(only)] = facts.as_slice()
        && only.parts == [Part::Text(NOTHING_SAID.to_owned())]
    {
        facts.clear();
    }
    Ok(facts)
}

fn message_fact(field: &str, role: Role, message: &IncomingMessage<'_>) -> Result<Fact, ParseError> {
    let is_assistant = role == Role::Assistant;
    let mut parts = Vec::new();
    if is_assistant {
        parts.extend(message.thought().map(|text| Part::Thinking { text, signature: None }));
    }
    parts.append(&mut incoming::parts(message.content)?);
    let refusal = message.refusal.iter().filter(|text| !text.is_empty());
    parts.extend(refusal.cloned().map(Part::Refusal));
    if let Some(audio) = message.audio {
        parts.push(incoming::item(audio)?);
    }
    let provider = is_assistant.then_some(PROVIDER);
    Ok(Fact::MessageAppended(MessageAppended {
        author: values::label(&format!("{field}.name"), message.name.as_deref())?,
        provider: values::label("provider", provider)?,
        ..MessageAppended::new(role, parts)
    }))
}

fn returned(calls: &mut OpenCalls, field: &str, message: &IncomingMessage<'_>) -> Result<Fact, ParseError> {
    let id = message.tool_call_id.as_deref().unwrap_or_default();
    let name = message.name.as_deref().unwrap_or_default();
    let (call_id, tool_name) = calls.answer(&format!("{field}.tool_call_id"), id, name)?;
    let parts = incoming::parts(message.content)?;
    let output = match (message.content, parts.as_slice()) {
        (Some(content), [Part::Text(text)]) if content.get().starts_with('"') => values::output(text),
        _ => ToolOutput::Parts(parts),
    };
    Ok(Fact::ToolReturned(ToolReturned { call_id, tool_name, output, outcome: ToolOutcome::Succeeded }))
}
