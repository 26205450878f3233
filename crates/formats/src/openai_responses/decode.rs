//! Parses JSON of the provider, and reports positions of errors.

use domain::{JsonText, Label, Part, Violation};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::PROVIDER;
use crate::reply::ParseError;

/// A provider item, verbatim.
pub(super) fn own(item: impl Into<String>, path: &str) -> Result<Part, ParseError> {
    Ok(Part::ProviderItem {
        provider: provider()?,
        item: JsonText::parse(item).map_err(|violation| ParseError::unusable(path, violation))?,
    })
}

/// The provider's name.
pub(super) fn provider() -> Result<Label, ParseError> {
    valid(Label::parse(PROVIDER), "", "provider")
}

/// Parses a document.
pub(super) fn borrowed<'a, T: Deserialize<'a>>(text: &'a RawValue, path: &str) -> Result<T, ParseError> {
    serde_json::from_str(text.get()).map_err(|error| malformed(&error, path))
}

/// The position and the kind of an error. Its text is dropped, because it may quote contents.
pub(super) fn malformed(error: &serde_json::Error, path: &str) -> ParseError {
    let (line, column) = (error.line(), error.column());
    let within = if path.is_empty() { "" } else { " of " };
    let kind = match error.classify() {
        serde_json::error::Category::Io => "unreadable",
        serde_json::error::Category::Syntax => "invalid JSON",
        serde_json::error::Category::Data => "unexpected structure",
        serde_json::error::Category::Eof => "unexpected end",
    };
    ParseError::malformed("openai-responses", format!("{kind} at line {line}, column {column}{within}{path}"))
}

/// The value, or an error with the path of the field.
pub(super) fn valid<T>(value: Result<T, Violation>, path: &str, field: &str) -> Result<T, ParseError> {
    value.map_err(|violation| {
        let dot = if path.is_empty() { "" } else { "." };
        ParseError::unusable(format!("{path}{dot}{field}"), violation)
    })
}
