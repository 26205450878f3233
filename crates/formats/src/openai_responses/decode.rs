//! Decodes JSON of the provider, and reports where it breaks the format.

use domain::{JsonText, Label, Part, Violation};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::PROVIDER;
use crate::format::Format;
use crate::reply::ParseError;

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
