//! How what cannot be read is told, without contents.

use domain::Violation;

use super::FORMAT;
use crate::ParseError;

/// JSON that is none, or not of the format's shape.
pub(super) fn malformed(error: &serde_json::Error) -> ParseError {
    let kind = match error.classify() {
        serde_json::error::Category::Data => "another shape than the format's",
        serde_json::error::Category::Eof => "an early end",
        serde_json::error::Category::Io | serde_json::error::Category::Syntax => "a syntax error",
    };
    let (line, column) = (error.line(), error.column());
    misshapen(format!("{kind} at line {line}, column {column}"))
}

/// A document of another shape than the format's.
pub(super) fn misshapen(reason: impl Into<String>) -> ParseError {
    ParseError::Malformed {
        format: FORMAT,
        reason: reason.into(),
    }
}

/// A value that no event can hold.
pub(super) fn unusable(field: impl Into<String>, violation: &Violation) -> ParseError {
    ParseError::Unusable {
        field: field.into(),
        reason: violation.description.clone(),
    }
}
