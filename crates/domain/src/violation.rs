//! Invalid values of callers.

use std::borrow::Cow;

use strum::{EnumString, IntoStaticStr};
use thiserror::Error;

use crate::FieldPath;

/// One value that breaks a rule: the field, the rule and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field}: {description}")]
pub struct Violation {
    /// The path of the field in the request: `events[3].tool_called.input_json`. Empty until a parent adds its name.
    pub field: FieldPath,
    /// The rule.
    pub reason: ViolationReason,
    /// The rule, the bound, the value and the remedy. Never the content itself.
    pub description: String,
}

impl Violation {
    /// A violation without a field.
    #[must_use]
    pub fn new(reason: ViolationReason, description: impl Into<String>) -> Self {
        Self { field: FieldPath::default(), reason, description: description.into() }
    }

    /// The violation with the parent's path before its own.
    #[must_use]
    pub fn within(self, parent: impl Into<FieldPath>) -> Self {
        Self { field: self.field.within(parent), ..self }
    }

    /// The violation in entry `index` of a list; [`Violation::within`] then adds the name of the list.
    #[must_use]
    pub fn at(self, index: usize) -> Self {
        Self { field: self.field.at(index), ..self }
    }
}

/// The rules that a value can break. The names are stable: callers branch on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum ViolationReason {
    /// A required field is empty.
    #[strum(serialize = "FIELD_MISSING")]
    Missing,
    /// An id or label with invalid characters.
    #[strum(serialize = "FIELD_MALFORMED")]
    Malformed,
    /// An id that is reserved for other owners.
    #[strum(serialize = "FIELD_RESERVED")]
    Reserved,
    /// Text or a document over its bound.
    #[strum(serialize = "FIELD_TOO_LONG")]
    TooLong,
    /// Not JSON, or not JSON of the required kind.
    InvalidJson,
    /// U+0000 in a field that the read models store as text.
    NulCharacter,
    /// A number or time outside its range.
    #[strum(serialize = "FIELD_OUT_OF_RANGE")]
    OutOfRange,
    /// A commit without events.
    NoEvents,
    /// A commit over [`crate::bounds::EVENTS_PER_COMMIT_MAX`].
    TooManyEvents,
    /// An event over [`crate::bounds::EVENT_BYTES_MAX`].
    EventTooLarge,
    /// A commit over the payload limit of the NATS server.
    CommitTooLarge,
    /// Two fields exclude each other.
    #[strum(serialize = "FIELD_CONFLICT")]
    Conflict,
    /// The field, or its value, is not supported: leave it out.
    #[strum(serialize = "FIELD_UNSUPPORTED")]
    Unsupported,
    /// A field that the request does not have.
    #[strum(serialize = "FIELD_UNKNOWN")]
    Unknown,
}

impl From<ViolationReason> for Cow<'static, str> {
    fn from(reason: ViolationReason) -> Self {
        reason.as_str().into()
    }
}

impl ViolationReason {
    /// The reason in `google.rpc.ErrorInfo.reason`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Checks a text for a text column of the read models: no U+0000, at most `bytes_max` bytes.
///
/// # Errors
/// [`ViolationReason::NulCharacter`] or [`ViolationReason::TooLong`].
pub fn check_text(text: &str, bytes_max: usize) -> Result<(), Violation> {
    if text.contains('\0') {
        return Err(Violation::new(
            ViolationReason::NulCharacter,
            "contains U+0000, which this field cannot store: remove it",
        ));
    }
    check_length(text.len(), bytes_max)
}

/// Checks a length of at most `bytes_max` bytes.
///
/// # Errors
/// [`ViolationReason::TooLong`], with the bound and the value.
pub fn check_length(bytes: usize, bytes_max: usize) -> Result<(), Violation> {
    if bytes > bytes_max {
        return Err(Violation::new(
            ViolationReason::TooLong,
            format!("has {bytes} bytes, at most {bytes_max} are allowed"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_callers_write_them() {
        let violation = Violation::new(ViolationReason::Missing, "x")
            .within("input_json")
            .within("tool_called")
            .at(3)
            .within("events");
        assert_eq!(violation.field, "events[3].tool_called.input_json");
    }

    #[test]
    fn text_at_its_bound_and_one_past() {
        assert!(check_text("abc", 3).is_ok());
        assert_eq!(check_text("abcd", 3).unwrap_err().reason, ViolationReason::TooLong);
        assert_eq!(check_text("a\0", 3).unwrap_err().reason, ViolationReason::NulCharacter);
    }
}
