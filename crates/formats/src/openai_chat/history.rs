//! Parses the messages of a request into facts.

use domain::event::{MessageAppended, Role, ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
use domain::{Fact, Part};
use serde::Deserialize;

use super::incoming::{self, IncomingMessage};
use super::render::NOTHING_SAID;
use super::{FORMAT, PROVIDER};
use crate::chat::open_calls::OpenCalls;
use crate::chat::values;
use crate::reply::ParseError;

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
    let request: Request<'_> =
        serde_json::from_slice(body).map_err(|error| values::malformed(FORMAT, &error))?;
    let (mut facts, mut calls) = (Vec::new(), OpenCalls::default());
    for (index, message) in request.messages.iter().enumerate() {
        let field = format!("messages[{index}]");
        match message.role.as_deref() {
            Some("system") => facts.push(message_fact(&field, Role::System, message)?),
            Some("developer") => facts.push(message_fact(&field, Role::Developer, message)?),
            Some("user") => facts.push(message_fact(&field, Role::User, message)?),
            Some("assistant") => {
                facts.push(message_fact(&field, Role::Assistant, message)?);
                push_calls(&mut facts, &mut calls, &field, message)?;
            }
            Some("tool" | "function") => facts.push(returned(&mut calls, &field, message)?),
            Some(_) | None => {
                return Err(ParseError::Malformed {
                    format: FORMAT,
                    reason: format!("{field}.role is not a role of the format"),
                });
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

fn message_fact(
    field: &str,
    role: Role,
    message: &IncomingMessage<'_>,
) -> Result<Fact, ParseError> {
    let is_assistant = role == Role::Assistant;
    let mut parts = Vec::new();
    if is_assistant {
        parts.extend(message.thought().map(|text| Part::Thinking {
            text,
            signature: None,
        }));
    }
    parts.append(&mut incoming::parts(message.content)?);
    let refusal = message.refusal.iter().filter(|text| !text.is_empty());
    parts.extend(refusal.cloned().map(Part::Refusal));
    if let Some(audio) = message.audio {
        parts.push(incoming::item(audio)?);
    }
    let provider = is_assistant.then_some(PROVIDER);
    Ok(Fact::MessageAppended(MessageAppended {
        role,
        parts,
        author: values::label(&format!("{field}.name"), message.name.as_deref())?,
        model: None,
        provider: values::label("provider", provider)?,
        provider_response_id: None,
        finish_reason: None,
        usage: None,
    }))
}

fn push_calls(
    facts: &mut Vec<Fact>,
    calls: &mut OpenCalls,
    field: &str,
    message: &IncomingMessage<'_>,
) -> Result<(), ParseError> {
    let provider = values::label("provider", Some(PROVIDER))?;
    let now = message.tool_calls.iter().flatten();
    let now = now.map(|call| {
        (
            call.id.as_deref().unwrap_or_default(),
            call.name_and_input(),
        )
    });
    let before = message
        .function_call
        .iter()
        .map(|call| ("", call.name_and_input()));
    for (index, (id, (name, input))) in now.chain(before).enumerate() {
        let field = format!("{field}.tool_calls[{index}]");
        let tool_name = values::tool_name(&format!("{field}.function.name"), name)?;
        facts.push(Fact::ToolCalled(ToolCalled {
            call_id: calls.begin(&format!("{field}.id"), id, &tool_name)?,
            tool_name,
            input: values::input(&input),
            model: None,
            provider: provider.clone(),
            provider_response_id: None,
            signature: None,
        }));
    }
    Ok(())
}

fn returned(
    calls: &mut OpenCalls,
    field: &str,
    message: &IncomingMessage<'_>,
) -> Result<Fact, ParseError> {
    let id = message.tool_call_id.as_deref().unwrap_or_default();
    let name = message.name.as_deref().unwrap_or_default();
    let (call_id, tool_name) = calls.answer(&format!("{field}.tool_call_id"), id, name)?;
    let parts = incoming::parts(message.content)?;
    let output = match (message.content, parts.as_slice()) {
        (Some(content), [Part::Text(text)]) if content.get().starts_with('"') => {
            values::output(text)
        }
        _ => ToolOutput::Parts(parts),
    };
    Ok(Fact::ToolReturned(ToolReturned {
        call_id,
        tool_name,
        output,
        outcome: ToolOutcome::Succeeded,
    }))
}
