//! Reads single items: of a request's `input`, and of a reply's `output`.

use domain::event::Role;
use domain::{CallId, JsonText, Label, Part, ToolName, Violation};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::format::Format;
use crate::reply::ParseError;

use super::PROVIDER;
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

/// The provider's own item, verbatim.
pub(super) fn own(item: impl Into<String>, path: &str) -> Result<Part, ParseError> {
    Ok(Part::ProviderItem {
        provider: provider()?,
        item: JsonText::parse(item).map_err(|violation| unusable(path.to_owned(), violation))?,
    })
}

/// The provider's name.
pub(super) fn provider() -> Result<Label, ParseError> {
    valid(Label::parse(PROVIDER), "", "provider")
}

/// A document of the format, read.
pub(super) fn json<T: DeserializeOwned>(text: &RawValue, path: &str) -> Result<T, ParseError> {
    serde_json::from_str(text.get()).map_err(|error| malformed(&error, path))
}

/// A document of the format, read in place.
pub(super) fn borrowed<'a, T: Deserialize<'a>>(
    text: &'a RawValue,
    path: &str,
) -> Result<T, ParseError> {
    serde_json::from_str(text.get()).map_err(|error| malformed(&error, path))
}

/// Says where and of what kind a mistake is: the parser's own words may hold contents.
pub(super) fn malformed(error: &serde_json::Error, path: &str) -> ParseError {
    let (line, column) = (error.line(), error.column());
    let within = if path.is_empty() { "" } else { " of " };
    ParseError::Malformed {
        format: Format::OpenAiResponses.as_str(),
        reason: format!(
            "{} at line {line}, column {column}{within}{path}",
            match error.classify() {
                serde_json::error::Category::Io => "unreadable",
                serde_json::error::Category::Syntax => "no JSON",
                serde_json::error::Category::Data => "another shape",
                serde_json::error::Category::Eof => "an early end",
            }
        ),
    }
}

/// A value that an event can hold, or which of its bounds it breaks.
pub(super) fn valid<T>(
    value: Result<T, Violation>,
    path: &str,
    field: &str,
) -> Result<T, ParseError> {
    value.map_err(|violation| {
        let dot = if path.is_empty() { "" } else { "." };
        unusable(format!("{path}{dot}{field}"), violation)
    })
}

fn unusable(field: String, violation: Violation) -> ParseError {
    ParseError::Unusable {
        field,
        reason: violation.description,
    }
}
