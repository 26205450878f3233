//! What is wrong with a policy.

use domain::{Violation, ViolationReason};

/// A setting that is no setting, or out of its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct Mistake {
    /// The field, as a path; empty: the document.
    pub field: String,
    /// The rule, its bound, and the mend.
    pub rule: String,
}

impl Mistake {
    pub(super) fn new(field: &str, rule: impl Into<String>) -> Self {
        Self {
            field: field.to_owned(),
            rule: rule.into(),
        }
    }

    pub(super) fn of(error: &serde_json::Error) -> Self {
        Self::new("", error.to_string())
    }
}

impl From<redact::InvalidSetting> for Mistake {
    fn from(invalid: redact::InvalidSetting) -> Self {
        Self::new(&format!("redact.{}", invalid.field), invalid.rule)
    }
}

impl From<Mistake> for Violation {
    fn from(mistake: Mistake) -> Self {
        let violation = Self::new(ViolationReason::Malformed, mistake.rule);
        match mistake.field.as_str() {
            "" => violation,
            field => violation.within(field),
        }
    }
}
