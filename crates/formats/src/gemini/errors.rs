//! Errors of parsing, without contents.

use super::FORMAT;
use crate::ParseError;

/// The error of invalid JSON, or of JSON with another structure.
pub(super) fn malformed(error: &serde_json::Error) -> ParseError {
    let kind = match error.classify() {
        serde_json::error::Category::Data => "an unexpected structure",
        serde_json::error::Category::Eof => "an unexpected end",
        serde_json::error::Category::Io | serde_json::error::Category::Syntax => "a syntax error",
    };
    let (line, column) = (error.line(), error.column());
    invalid(format!("{kind} at line {line}, column {column}"))
}

/// The error of a document with another structure.
pub(super) fn invalid(reason: impl Into<String>) -> ParseError {
    ParseError::malformed(FORMAT, reason)
}
