//! Parses single items: of the `input` of a request, and of the `output` of a reply.

use domain::event::Role;
use domain::{CallId, JsonText, Part, ToolName};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::reply::ParseError;

use super::decode::{borrowed, own, valid};
use super::parts::parts;

/// The arguments of a call without arguments.
const NO_ARGUMENTS: &str = "{}";

/// A parsed item.
#[derive(Debug)]
pub(super) enum ParsedItem<'a> {
    /// A message.
    Message { role: Role, phase: Option<String>, parts: Vec<Part> },
    /// A function call.
    Call(ParsedCall),
    /// The output of a function.
    Output { call_id: CallId, output: &'a RawValue },
    /// Another item, verbatim.
    Other(Part),
}

/// A call without its provider.
#[derive(Debug)]
pub(super) struct ParsedCall {
    pub(super) call_id: CallId,
    pub(super) tool_name: ToolName,
    pub(super) input: JsonText,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Message<'a> {
    role: String,
    phase: Option<String>,
    #[serde(borrow)]
    content: &'a RawValue,
}

#[derive(Deserialize)]
struct FunctionCall {
    call_id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct FunctionCallOutput<'a> {
    call_id: String,
    #[serde(borrow)]
    output: &'a RawValue,
}

/// Parses the item at `path`. An item without a type is a message, as for the provider.
pub(super) fn read<'a>(item: &'a RawValue, path: &str) -> Result<ParsedItem<'a>, ParseError> {
    let Kind { kind } = borrowed(item, path)?;
    match kind.as_deref() {
        None | Some("message") => message(item, path),
        Some("function_call") => {
            let call: FunctionCall = borrowed(item, path)?;
            Ok(ParsedItem::Call(ParsedCall {
                call_id: valid(CallId::parse(call.call_id), path, "call_id")?,
                tool_name: valid(ToolName::parse(call.name), path, "name")?,
                input: arguments(call.arguments, path)?,
            }))
        }
        Some("function_call_output") => {
            let returned: FunctionCallOutput<'_> = borrowed(item, path)?;
            Ok(ParsedItem::Output {
                call_id: valid(CallId::parse(returned.call_id), path, "call_id")?,
                output: returned.output,
            })
        }
        Some(_) => Ok(ParsedItem::Other(own(item.get(), path)?)),
    }
}

fn message<'a>(item: &'a RawValue, path: &str) -> Result<ParsedItem<'a>, ParseError> {
    let message: Message<'_> = borrowed(item, path)?;
    let role =
        Role::ALL.into_iter().find(|role| role.as_str() == message.role).ok_or_else(|| ParseError::Unusable {
            field: format!("{path}.role").into(),
            reason: "is not one of user, assistant, system, developer".to_owned(),
        })?;
    Ok(ParsedItem::Message { role, phase: message.phase, parts: parts(message.content, &format!("{path}.content"))? })
}

/// The arguments of a call. A text that is not JSON becomes a JSON string.
fn arguments(arguments: String, path: &str) -> Result<JsonText, ParseError> {
    if arguments.is_empty() {
        return valid(JsonText::parse(NO_ARGUMENTS), path, "arguments");
    }
    if let Ok(input) = JsonText::parse(arguments.clone()) {
        return Ok(input);
    }
    let quoted = serde_json::Value::String(arguments).to_string();
    valid(JsonText::parse(quoted), path, "arguments")
}
