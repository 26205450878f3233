//! Documents of a request that model servers get as they were sent.

use domain::{JsonText, Violation, ViolationReason};
use serde_json::Value;
use serde_json::value::RawValue;

/// A document, byte for byte: models write the members of an answer in the order of its schema.
///
/// # Errors
/// It has too many levels, a number out of range, or half of a surrogate pair: model servers cannot read it.
pub(crate) fn verbatim(document: &RawValue) -> Result<JsonText, Violation> {
    serde_json::from_str::<Value>(document.get()).map_err(|error| {
        let rule = format!("has a value that is not readable: {error}");
        Violation::new(ViolationReason::InvalidJson, rule)
    })?;
    JsonText::parse(document.get())
}
