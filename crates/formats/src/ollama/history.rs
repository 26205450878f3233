//! Reads the messages of a request back as facts.

use domain::event::{MessageAppended, Role, ToolCalled, ToolOutcome, ToolReturned};
use domain::{Fact, Label, MediaSource, Part};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::render::INSTRUCTIONS;
use super::{FORMAT, PROVIDER, picture};
use crate::chat::open_calls::OpenCalls;
use crate::chat::reading;
use crate::reply::ParseError;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    messages: Vec<Said<'a>>,
}

/// A message of a request or a reply. Every field may be missing.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Said<'a> {
    pub(super) role: Option<String>,
    pub(super) content: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) images: Option<Vec<String>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<Call<'a>>>,
    pub(super) tool_name: Option<String>,
    pub(super) tool_call_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Call<'a> {
    pub(super) id: Option<String>,
    #[serde(borrow)]
    pub(super) function: Function<'a>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Function<'a> {
    pub(super) name: Option<String>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

impl Call<'_> {
    /// Its input as JSON text.
    pub(super) fn input(&self) -> String {
        let arguments = self.function.arguments;
        arguments.map(reading::unquoted).unwrap_or_default()
    }
}

/// The facts of a request's `messages`, in order: any valid request's, whoever wrote it.
///
/// Each assistant's message is there, without parts where it only calls; its models count as this provider's, so that
/// thoughts can go back. Pictures stand before the text. Calls without ids get such as their place tells; results without
/// ids answer the oldest open call of their tool. A tool's text that is JSON is read as JSON. The instructions that stand
/// for none are none.
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
            Some("system") if index == 0 && said.content.as_deref() == Some(INSTRUCTIONS) => {}
            Some("system") => facts.push(message(Role::System, said)?),
            Some("user") => facts.push(message(Role::User, said)?),
            Some("assistant") => {
                facts.push(message(Role::Assistant, said)?);
                push_calls(&mut facts, &mut calls, &field, said)?;
            }
            Some("tool") => facts.push(returned(&mut calls, &field, said)?),
            Some(_) | None => {
                return Err(ParseError::Malformed {
                    format: FORMAT,
                    reason: format!("{field}.role is none of the format's"),
                });
            }
        }
    }
    Ok(facts)
}

fn message(role: Role, said: &Said<'_>) -> Result<Fact, ParseError> {
    let text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let mut parts = Vec::new();
    parts.extend(text(&said.thinking).map(|text| Part::Thinking {
        text,
        signature: None,
    }));
    parts.extend(said.images.iter().flatten().map(|base64| image(base64)));
    parts.extend(text(&said.content).map(Part::Text));
    let provider = (role == Role::Assistant).then_some(PROVIDER);
    Ok(Fact::MessageAppended(MessageAppended {
        role,
        parts,
        author: None,
        model: None,
        provider: reading::label("provider", provider)?,
        provider_response_id: None,
        finish_reason: None,
        usage: None,
    }))
}

/// A picture, from its base64.
pub(super) fn image(base64: &str) -> Part {
    let (media_type, url) = picture::address_of(base64);
    Part::Image {
        source: MediaSource::Url(url),
        media_type: Label::parse(media_type).ok(),
        detail: None,
    }
}

fn push_calls(
    facts: &mut Vec<Fact>,
    calls: &mut OpenCalls,
    field: &str,
    said: &Said<'_>,
) -> Result<(), ParseError> {
    let provider = reading::label("provider", Some(PROVIDER))?;
    for (index, call) in said.tool_calls.iter().flatten().enumerate() {
        let field = format!("{field}.tool_calls[{index}]");
        let name = call.function.name.as_deref().unwrap_or_default();
        let tool_name = reading::tool_name(&format!("{field}.function.name"), name)?;
        let id = call.id.as_deref().unwrap_or_default();
        facts.push(Fact::ToolCalled(ToolCalled {
            call_id: calls.begin(&format!("{field}.id"), id, &tool_name)?,
            tool_name,
            input: reading::input(&call.input()),
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
    let name = said.tool_name.as_deref().unwrap_or_default();
    let (call_id, tool_name) = calls.answer(&format!("{field}.tool_call_id"), id, name)?;
    let named = || reading::tool_name(&format!("{field}.tool_name"), name);
    let tool_name = match tool_name {
        None if !name.is_empty() => Some(named()?),
        found => found,
    };
    Ok(Fact::ToolReturned(ToolReturned {
        call_id,
        tool_name,
        output: reading::output(said.content.as_deref().unwrap_or_default()),
        outcome: ToolOutcome::Succeeded,
    }))
}
