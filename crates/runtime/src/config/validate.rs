//! Checks of values after their types are correct.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

use super::error::{ConfigError, ErrorKind, Origin};

/// A configuration that checks its own values.
pub trait Validate {
    /// Reports all values that break a rule.
    fn validate(&self, checks: &mut Checks<'_>);
}

/// The inclusive bounds of a number, and its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds<N> {
    /// The smallest allowed value.
    pub min: N,
    /// The largest allowed value.
    pub max: N,
    /// The unit in the plural: `ms`, `bytes`, `calls`.
    pub unit: &'static str,
}

impl<N: Copy> Bounds<N> {
    /// The bounds of a `range`.
    #[must_use]
    pub const fn new(range: RangeInclusive<N>, unit: &'static str) -> Self {
        Self { min: *range.start(), max: *range.end(), unit }
    }
}

/// Collects the errors of a validation.
#[derive(Debug)]
pub struct Checks<'a> {
    prefix: String,
    origins: &'a BTreeMap<String, Origin>,
    errors: &'a mut Vec<ConfigError>,
}

impl<'a> Checks<'a> {
    pub(super) fn new(origins: &'a BTreeMap<String, Origin>, errors: &'a mut Vec<ConfigError>) -> Self {
        Self { prefix: String::new(), origins, errors }
    }

    /// Validates the section `inner` at `key`.
    pub fn section(&mut self, key: &str, inner: &impl Validate) {
        let prefix = self.path(key);
        inner.validate(&mut Checks { prefix, origins: self.origins, errors: &mut *self.errors });
    }

    /// Reports a `value` outside of `bounds`.
    pub fn bounds<N: Copy + PartialOrd + Display>(&mut self, key: &str, value: N, bounds: &Bounds<N>) {
        if bounds.min <= value && value <= bounds.max {
            return;
        }
        self.push(
            key,
            ErrorKind::OutOfBounds {
                value: value.to_string(),
                min: bounds.min.to_string(),
                max: bounds.max.to_string(),
                unit: bounds.unit,
            },
        );
    }

    /// Reports that the value of `key` breaks a rule. `message` continues the sentence that starts with the key: the rule
    /// and the correction, without secrets.
    pub fn invalid(&mut self, key: &str, message: impl Into<String>) {
        self.push(key, ErrorKind::Invalid(message.into()));
    }

    /// Reports the errors of a section that another crate checks: its keys, each with the rule and the correction.
    pub fn invalid_section<K: AsRef<str>>(&mut self, section: &str, errors: impl IntoIterator<Item = (K, String)>) {
        for (key, message) in errors {
            self.invalid(&format!("{section}.{}", key.as_ref()), message);
        }
    }

    fn push(&mut self, key: &str, kind: ErrorKind) {
        let key = self.path(key);
        let origin = self.origins.get(&key).cloned().unwrap_or(Origin::Default);
        self.errors.push(kind.at(key, origin));
    }

    fn path(&self, key: &str) -> String {
        if self.prefix.is_empty() { key.to_owned() } else { format!("{}.{key}", self.prefix) }
    }
}
