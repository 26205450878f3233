//! The settings of redaction.

use serde::{Deserialize, Serialize};

/// Settings of redaction: values are found by the name of their key, and texts by patterns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Which of the built-in rules apply.
    #[serde(skip_serializing_if = "BuiltInRules::is_all")]
    pub rules: BuiltInRules,
    /// Additional keys whose values are redacted, in any case. At most 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// Additional regular expressions whose matches are redacted. At most 50.
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

/// An invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct InvalidSetting {
    /// The field, as a path within [`Settings`].
    pub field: String,
    /// The rule that the value breaks, and the remedy.
    pub rule: String,
}

impl InvalidSetting {
    pub(crate) fn new(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { field: field.into(), rule: rule.into() }
    }
}
