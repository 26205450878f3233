//! Why a value that a caller gave cannot be taken.

use thiserror::Error;

/// One value that breaks a rule: which field, which rule, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field}: {description}")]
pub struct Violation {
    /// The path of the field, as the caller wrote it: `events[3].tool_called.input_json`. Empty until a parent names it.
    pub field: String,
    /// The rule.
    pub reason: ViolationReason,
    /// What is wrong, the bound and the value, and the mend. Never the content itself.
    pub description: String,
}

impl Violation {
    /// A violation of a value that does not know yet which field it stands in.
    #[must_use]
    pub fn new(reason: ViolationReason, description: impl Into<String>) -> Self {
        Self {
            field: String::new(),
            reason,
            description: description.into(),
        }
    }

    /// The same violation, one level up: `name` is put before the path.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        self.field = match self.field.as_str() {
            "" => name.to_owned(),
            inner if inner.starts_with('[') => format!("{name}{inner}"),
            inner => format!("{name}.{inner}"),
        };
        self
    }

    /// The same violation in entry `index` of a list; the list's own name is put before it by [`Violation::within`].
    #[must_use]
    pub fn at(self, index: usize) -> Self {
        self.within(&format!("[{index}]"))
    }
}

/// The rules that a value can break. The names are stable: callers branch on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViolationReason {
    /// A required field is empty.
    Missing,
    /// An id or label has characters that it must not have.
    Malformed,
    /// An id of a form that is reserved for other owners.
    Reserved,
    /// Text or a document over its bound.
    TooLong,
    /// Not JSON, or not JSON of the kind that belongs here.
    InvalidJson,
    /// U+0000 in a field that the read models keep as text.
    NulCharacter,
    /// A number or time outside its range.
    OutOfRange,
    /// A commit without events.
    NoEvents,
    /// A commit over [`crate::bounds::EVENTS_PER_COMMIT_MAX`].
    TooManyEvents,
    /// An event over [`crate::bounds::EVENT_BYTES_MAX`].
    EventTooLarge,
    /// A commit over the payload limit of the server that keeps the record.
    CommitTooLarge,
}

impl ViolationReason {
    /// The reason as it travels in `google.rpc.ErrorInfo.reason`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "FIELD_MISSING",
            Self::Malformed => "FIELD_MALFORMED",
            Self::Reserved => "FIELD_RESERVED",
            Self::TooLong => "FIELD_TOO_LONG",
            Self::InvalidJson => "INVALID_JSON",
            Self::NulCharacter => "NUL_CHARACTER",
            Self::OutOfRange => "FIELD_OUT_OF_RANGE",
            Self::NoEvents => "NO_EVENTS",
            Self::TooManyEvents => "TOO_MANY_EVENTS",
            Self::EventTooLarge => "EVENT_TOO_LARGE",
            Self::CommitTooLarge => "COMMIT_TOO_LARGE",
        }
    }
}

/// Bounded text that the read models keep in a text column: no U+0000, at most `bytes_max` bytes.
///
/// # Errors
/// [`ViolationReason::NulCharacter`] or [`ViolationReason::TooLong`].
pub fn check_text(text: &str, bytes_max: usize) -> Result<(), Violation> {
    if text.contains('\0') {
        return Err(Violation::new(
            ViolationReason::NulCharacter,
            "holds U+0000, which this field cannot keep: remove it",
        ));
    }
    check_length(text.len(), bytes_max)
}

/// At most `bytes_max` bytes.
///
/// # Errors
/// [`ViolationReason::TooLong`], with the bound and the value.
pub fn check_length(bytes: usize, bytes_max: usize) -> Result<(), Violation> {
    if bytes > bytes_max {
        return Err(Violation::new(
            ViolationReason::TooLong,
            format!("is {bytes} bytes, at most {bytes_max} are taken"),
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
        assert_eq!(
            check_text("abcd", 3).unwrap_err().reason,
            ViolationReason::TooLong
        );
        assert_eq!(
            check_text("a\0", 3).unwrap_err().reason,
            ViolationReason::NulCharacter
        );
    }
}
