//! Errors of parsing, without contents.

use domain::Label;
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
    ParseError::malformed(PROVIDER, reason)
}

/// The position of an error. Its text is dropped, because it may quote contents.
fn at(path: &str, error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    format!("{path} has an unexpected structure at line {line}, column {column}")
}

/// The name of this provider.
pub(super) fn provider() -> Result<Label, ParseError> {
    Label::parse(PROVIDER).map_err(|violation| ParseError::unusable("provider", violation))
}
