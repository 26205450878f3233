//! The settings of redaction.

use serde::{Deserialize, Serialize};

/// What is redacted: values by the name of their key, and texts by pattern.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Which of the built-in rules apply.
    #[serde(skip_serializing_if = "BuiltInRules::is_all")]
    pub rules: BuiltInRules,
    /// More keys whose values are redacted, whatever their case; at most 100 in a policy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// More patterns that are redacted: regular expressions; at most 50 in a policy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
}

/// Which of the built-in rules apply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuiltInRules {
    /// All.
    #[default]
    All,
    /// All but these.
    Without(Vec<String>),
    /// None.
    None,
}

impl BuiltInRules {
    fn is_all(&self) -> bool {
        *self == Self::All
    }
}

/// A setting that names no rule, or cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct InvalidSetting {
    /// The field, as a path within [`Settings`].
    pub field: String,
    /// The rule that the value breaks, and how to mend it.
    pub rule: String,
}

impl InvalidSetting {
    pub(crate) fn new(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            rule: rule.into(),
        }
    }
}
