//! Reads the messages of a request back as facts.

use domain::event::{MessageAppended, Role, ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
use domain::{Fact, Part};
use serde::Deserialize;

use super::incoming::{self, Said};
use super::render::NOTHING_SAID;
use super::{FORMAT, PROVIDER};
use crate::chat::open_calls::OpenCalls;
use crate::chat::reading;
use crate::reply::ParseError;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    messages: Vec<Said<'a>>,
}

/// The facts of a request's `messages`, in order: any valid request's, whoever wrote it.
///
/// Each assistant's message is there, without parts where it only calls. Its models count as this provider's. A tool's
/// text that is JSON is read as JSON; parts of no known kind are kept as the provider's own items.
///
/// # Errors
/// [`ParseError::Malformed`] or [`ParseError::Unusable`].
pub fn parse_history(body: &[u8]) -> Result<Vec<Fact>, ParseError> {
    let request: Request<'_> =
        serde_json::from_slice(body).map_err(|error| reading::malformed(FORMAT, &error))?;
    let (mut facts, mut calls) = (Vec::new(), OpenCalls::default());
    for (index, said) in request.messages.iter().enumerate() {
        let field = format!("messages[{index}]");
        match said.role.as_deref() {
            Some("system") => facts.push(message(&field, Role::System, said)?),
            Some("developer") => facts.push(message(&field, Role::Developer, said)?),
            Some("user") => facts.push(message(&field, Role::User, said)?),
            Some("assistant") => {
                facts.push(message(&field, Role::Assistant, said)?);
                push_calls(&mut facts, &mut calls, &field, said)?;
            }
            Some("tool" | "function") => facts.push(returned(&mut calls, &field, said)?),
            Some(_) | None => {
                return Err(ParseError::Malformed {
                    format: FORMAT,
                    reason: format!("{field}.role is none of the format's"),
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

fn message(field: &str, role: Role, said: &Said<'_>) -> Result<Fact, ParseError> {
    let is_assistant = role == Role::Assistant;
    let mut parts = Vec::new();
    if is_assistant {
        parts.extend(said.thought().map(|text| Part::Thinking {
            text,
            signature: None,
        }));
    }
    parts.append(&mut incoming::parts(said.content)?);
    let refusal = said.refusal.iter().filter(|text| !text.is_empty());
    parts.extend(refusal.cloned().map(Part::Refusal));
    if let Some(audio) = said.audio {
        parts.push(incoming::item(audio)?);
    }
    let provider = is_assistant.then_some(PROVIDER);
    Ok(Fact::MessageAppended(MessageAppended {
        role,
        parts,
        author: reading::label(&format!("{field}.name"), said.name.as_deref())?,
        model: None,
        provider: reading::label("provider", provider)?,
        provider_response_id: None,
        finish_reason: None,
        usage: None,
    }))
}

fn push_calls(
    facts: &mut Vec<Fact>,
    calls: &mut OpenCalls,
    field: &str,
    said: &Said<'_>,
) -> Result<(), ParseError> {
    let provider = reading::label("provider", Some(PROVIDER))?;
    let now = said.tool_calls.iter().flatten();
    let now = now.map(|call| (call.id.as_deref().unwrap_or_default(), call.told()));
    let before = said.function_call.iter().map(|call| ("", call.told()));
    for (index, (id, (name, input))) in now.chain(before).enumerate() {
        let field = format!("{field}.tool_calls[{index}]");
        let tool_name = reading::tool_name(&format!("{field}.function.name"), name)?;
        facts.push(Fact::ToolCalled(ToolCalled {
            call_id: calls.begin(&format!("{field}.id"), id, &tool_name)?,
            tool_name,
            input: reading::input(&input),
            model: None,
            provider: provider.clone(),
            provider_response_id: None,
            signature: None,
        }));
    }
    Ok(())
}

fn returned(calls: &mut OpenCalls, field: &str, said: &Said<'_>) -> Result<Fact, ParseError> {
    let id = said.tool_call_id.as_deref().unwrap_or_default();
    let name = said.name.as_deref().unwrap_or_default();
    let (call_id, tool_name) = calls.answer(&format!("{field}.tool_call_id"), id, name)?;
    let parts = incoming::parts(said.content)?;
    let output = match (said.content, parts.as_slice()) {
        (Some(content), [Part::Text(text)]) if content.get().starts_with('"') => {
            reading::output(text)
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
