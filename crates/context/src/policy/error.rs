//! Errors of policies.

use domain::{Violation, ViolationReason};

/// An unknown setting, or one that is out of its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct PolicyError {
    /// The field, as a path; empty: the whole document.
    pub field: String,
    /// The rule, its bound, and the remedy.
    pub rule: String,
}

impl PolicyError {
    pub(super) fn new(field: &str, rule: impl Into<String>) -> Self {
        Self { field: field.to_owned(), rule: rule.into() }
    }

    pub(super) fn of(error: &serde_json::Error) -> Self {
        Self::new("", error.to_string())
    }
}

impl From<redact::InvalidSetting> for PolicyError {
    fn from(invalid: redact::InvalidSetting) -> Self {
        Self::new(&format!("redact.{}", invalid.field), invalid.rule)
    }
}

impl From<PolicyError> for Violation {
    fn from(error: PolicyError) -> Self {
        let violation = Self::new(ViolationReason::Malformed, error.rule);
        match error.field.as_str() {
            "" => violation,
            field => violation.within(field),
        }
    }
}
