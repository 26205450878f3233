//! How what cannot be read is told, without contents.

use domain::{CallId, Label, ToolName, Violation};
use serde::Deserialize;

use crate::reply::ParseError;

use super::PROVIDER;

/// Reads JSON; `path` says where it stands.
pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a str, path: &str) -> Result<T, ParseError> {
    serde_json::from_str(text).map_err(|error| malformed(&at(path, &error)))
}

/// Reads a whole document.
pub(super) fn read_bytes<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, ParseError> {
    serde_json::from_slice(body).map_err(|error| malformed(&at("the document", &error)))
}

pub(super) fn malformed(reason: &str) -> ParseError {
    ParseError::Malformed {
        format: PROVIDER,
        reason: reason.to_owned(),
    }
}

/// The error's own words may quote what was read, so only its place is told.
fn at(path: &str, error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    format!("{path} has another shape at line {line}, column {column}")
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

/// A label, where there is one: none and empty are alike.
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
