//! Conversions of optional texts: an empty string of protobuf is `None` in the domain.

use domain::bounds::{CLIENT_TEXT_BYTES_MAX, METADATA_BYTES_MAX};
use domain::violation::check_text;
use domain::{JsonText, Label, Violation};

/// A label; `None` for an empty text.
///
/// # Errors
/// As [`Label::parse`], with the name of the field.
pub fn label(text: String, field: &str) -> Result<Option<Label>, Violation> {
    match text.as_str() {
        "" => Ok(None),
        _ => Label::parse(text).map(Some).map_err(|violation| violation.within(field)),
    }
}

/// A metadata object; `None` for an empty text.
///
/// # Errors
/// As [`JsonText::parse_metadata`], with the name of the field.
pub fn metadata(text: String, field: &str) -> Result<Option<JsonText>, Violation> {
    match text.as_str() {
        "" => Ok(None),
        _ => JsonText::parse_metadata(text, METADATA_BYTES_MAX).map(Some).map_err(|violation| violation.within(field)),
    }
}

/// A text of at most `bytes_max` bytes without U+0000; `None` for an empty text.
///
/// # Errors
/// As [`check_text`], with the name of the field.
pub fn text(text: String, bytes_max: usize, field: &str) -> Result<Option<String>, Violation> {
    if text.is_empty() {
        return Ok(None);
    }
    check_text(&text, bytes_max).map_err(|violation| violation.within(field))?;
    Ok(Some(text))
}

/// One text of the client's context; `None` for an empty text.
///
/// # Errors
/// As [`text`].
pub fn client_text(value: String, field: &str) -> Result<Option<String>, Violation> {
    text(value, CLIENT_TEXT_BYTES_MAX, field)
}

/// The text of a label, or the empty string.
#[must_use]
pub fn label_text(label: Option<&Label>) -> String {
    label.map(|label| label.as_str().to_owned()).unwrap_or_default()
}

/// The text of a JSON document, or the empty string.
#[must_use]
pub fn json_text(json: Option<&JsonText>) -> String {
    json.map(|json| json.as_str().to_owned()).unwrap_or_default()
}
