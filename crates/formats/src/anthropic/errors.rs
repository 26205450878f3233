//! Errors of parsing, without contents.

use domain::{CallId, Label, ToolName, Violation};
use serde::Deserialize;

use crate::reply::ParseError;

use super::PROVIDER;

/// Parses JSON; `path` is its position.
pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a str, path: &str) -> Result<T, ParseError> {
    serde_json::from_str(text).map_err(|error| malformed(&at(path, &error)))
}

/// Parses a whole document.
pub(super) fn read_bytes<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, ParseError> {
    serde_json::from_slice(body).map_err(|error| malformed(&at("the document", &error)))
}

pub(super) fn malformed(reason: &str) -> ParseError {
    ParseError::Malformed {
        format: PROVIDER,
        reason: reason.to_owned(),
    }
}

/// The position of an error. Its text is dropped, because it may quote contents.
fn at(path: &str, error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    format!("{path} has an unexpected structure at line {line}, column {column}")
}

pub(super) fn unusable(field: &str, violation: Violation) -> ParseError {
    ParseError::Unusable {
        field: field.to_owned(),
        reason: violation.description,
    }
}

pub(super) fn call_id(text: &str, path: &str) -> Result<CallId, ParseError> {
    CallId::parse(text).map_err(|violation| unusable(path, violation))
}

pub(super) fn tool_name(text: &str, path: &str) -> Result<ToolName, ParseError> {
    ToolName::parse(text).map_err(|violation| unusable(path, violation))
}

/// A label; `None` for an empty text.
pub(super) fn label(text: Option<&str>, path: &str) -> Result<Option<Label>, ParseError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let label = Label::parse(text).map_err(|violation| unusable(path, violation))?;
    Ok(Some(label))
}

/// The name of this provider.
pub(super) fn provider() -> Result<Label, ParseError> {
    Label::parse(PROVIDER).map_err(|violation| unusable("provider", violation))
}
