//! Parses the messages of a request into facts.

use domain::event::{MessageAppended, Role, ToolOutcome, ToolReturned};
use domain::{Fact, Label, MediaSource, Part};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::render::INSTRUCTIONS;
use super::{FORMAT, PROVIDER, picture};
use crate::chat::call_drafts::IncomingCall;
use crate::chat::open_calls::OpenCalls;
use crate::reply::ParseError;
use crate::values;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    messages: Vec<IncomingMessage<'a>>,
}

/// A message of a request or a reply. Every field may be missing.
#[derive(Debug, Default, Deserialize)]
pub(super) struct IncomingMessage<'a> {
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
    pub(super) fn content(&self) -> IncomingCall<'_> {
        let arguments = self.function.arguments;
        IncomingCall {
            number: None,
            id: self.id.as_deref().unwrap_or_default(),
            name: self.function.name.as_deref().unwrap_or_default(),
            input: arguments.map(values::unquoted).unwrap_or_default(),
        }
    }
}

/// Parses the `messages` of any valid request, in order.
///
/// Each assistant message is a fact; it has no parts if it only calls tools. Its provider is Ollama, so that its thoughts can
/// be rendered again. Images precede the text. Calls without an id get one from their index; results without an id belong to
/// the oldest open call of their tool. The text of a tool is a document if it is JSON. [`INSTRUCTIONS`] are not a message.
///
/// # Errors
/// [`ParseError::Malformed`] or [`ParseError::Unusable`].
pub fn parse_history(body: &[u8]) -> Result<Vec<Fact>, ParseError> {
    let request: Request<'_> = serde_json::from_slice(body).map_err(|error| values::malformed(FORMAT, &error))?;
    let (mut facts, mut calls) = (Vec::new(), OpenCalls::default());
    for (index, message) in request.messages.iter().enumerate() {
        let field = format!("messages[{index}]");
        match message.role.as_deref() {
            Some("system") if index == 0 && message.content.as_deref() == Some(INSTRUCTIONS) => {}
            Some("system") => facts.push(message_fact(Role::System, message)?),
            Some("user") => facts.push(message_fact(Role::User, message)?),
            Some("assistant") => {
                facts.push(message_fact(Role::Assistant, message)?);
                let called = message.tool_calls.iter().flatten().map(Call::content);
                facts.append(&mut calls.called(&field, PROVIDER, called)?);
            }
            Some("tool") => facts.push(returned(&mut calls, &field, message)?),
            Some(_) | None => {
                let reason = format!("{field}.role is not a role of the format");
                return Err(ParseError::malformed(FORMAT, reason));
            }
        }
    }
    Ok(facts)
}

fn message_fact(role: Role, message: &IncomingMessage<'_>) -> Result<Fact, ParseError> {
    let text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let mut parts = Vec::new();
    parts.extend(text(&message.thinking).map(|text| Part::Thinking { text, signature: None }));
    parts.extend(message.images.iter().flatten().map(|base64| image(base64)));
    parts.extend(text(&message.content).map(Part::Text));
    let provider = (role == Role::Assistant).then_some(PROVIDER);
    Ok(Fact::MessageAppended(MessageAppended {
        provider: values::label("provider", provider)?,
        ..MessageAppended::new(role, parts)
    }))
}

/// An image from its base64.
pub(super) fn image(base64: &str) -> Part {
    let (media_type, url) = picture::data_url(base64);
    Part::Image { source: MediaSource::Url(url), media_type: Label::parse(media_type).ok(), detail: None }
}

fn returned(calls: &mut OpenCalls, field: &str, message: &IncomingMessage<'_>) -> Result<Fact, ParseError> {
    let id = message.tool_call_id.as_deref().unwrap_or_default();
    let name = message.tool_name.as_deref().unwrap_or_default();
    let (call_id, tool_name) = calls.answer(&format!("{field}.tool_call_id"), id, name)?;
    let named = || values::tool_name(&format!("{field}.tool_name"), name);
    let tool_name = match tool_name {
        None if !name.is_empty() => Some(named()?),
        found => found,
    };
    Ok(Fact::ToolReturned(ToolReturned {
        call_id,
        tool_name,
        output: values::output(message.content.as_deref().unwrap_or_default()),
        outcome: ToolOutcome::Succeeded,
    }))
}
