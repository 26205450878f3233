//! Reads single items: of a request's `input`, and of a reply's `output`.

use domain::event::Role;
use domain::{CallId, JsonText, Part, ToolName};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::reply::ParseError;

use super::decode::{borrowed, json, own, valid};
use super::parts::parts;

/// The arguments of a call whose model gave none.
const NO_ARGUMENTS: &str = "{}";

/// An item, read.
#[derive(Debug)]
pub(super) enum Read<'a> {
    /// Someone speaks.
    Message {
        role: Role,
        phase: Option<String>,
        parts: Vec<Part>,
    },
    /// A function is called.
    Call(ReadCall),
    /// What a function gave back.
    Output {
        call_id: CallId,
        output: &'a RawValue,
    },
    /// Any other item, verbatim.
    Other(Part),
}

/// A call, with no word of whose it is.
#[derive(Debug)]
pub(super) struct ReadCall {
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

/// Reads the item that stands at `path`. An item without a type is a message, as the provider takes it.
pub(super) fn read<'a>(item: &'a RawValue, path: &str) -> Result<Read<'a>, ParseError> {
    let Kind { kind } = json(item, path)?;
    match kind.as_deref() {
        None | Some("message") => message(item, path),
        Some("function_call") => {
            let call: FunctionCall = json(item, path)?;
            Ok(Read::Call(ReadCall {
                call_id: valid(CallId::parse(call.call_id), path, "call_id")?,
                tool_name: valid(ToolName::parse(call.name), path, "name")?,
                input: arguments(call.arguments, path)?,
            }))
        }
        Some("function_call_output") => {
            let returned: FunctionCallOutput<'_> = borrowed(item, path)?;
            Ok(Read::Output {
                call_id: valid(CallId::parse(returned.call_id), path, "call_id")?,
                output: returned.output,
            })
        }
        Some(_) => Ok(Read::Other(own(item.get(), path)?)),
    }
}

fn message<'a>(item: &'a RawValue, path: &str) -> Result<Read<'a>, ParseError> {
    let message: Message<'_> = borrowed(item, path)?;
    let role = Role::ALL
        .into_iter()
        .find(|role| role.as_str() == message.role);
    let role = role.ok_or_else(|| ParseError::Unusable {
        field: format!("{path}.role"),
        reason: "is none of user, assistant, system, developer".to_owned(),
    })?;
    Ok(Read::Message {
        role,
        phase: message.phase,
        parts: parts(message.content, &format!("{path}.content"))?,
    })
}

/// Arguments as a model wrote them: what is no JSON is kept as a JSON string.
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
