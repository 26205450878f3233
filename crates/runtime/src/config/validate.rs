//! Checks of values once their types are right.

use std::collections::BTreeMap;
use std::fmt::Display;

use super::error::{Fault, Mistake, Origin};

/// A configuration that knows the bounds of its own values.
pub trait Validate {
    /// Reports every value that breaks a rule; stops at none of them.
    fn validate(&self, checks: &mut Checks<'_>);
}

/// The inclusive bounds of a number, and what it counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds<N> {
    /// The smallest allowed value.
    pub min: N,
    /// The largest allowed value.
    pub max: N,
    /// What the number counts, in the plural: `ms`, `bytes`, `calls`.
    pub unit: &'static str,
}

/// Collects the mistakes found while validating.
#[derive(Debug)]
pub struct Checks<'a> {
    prefix: String,
    origins: &'a BTreeMap<String, Origin>,
    mistakes: &'a mut Vec<Mistake>,
}

impl<'a> Checks<'a> {
    pub(super) fn new(
        origins: &'a BTreeMap<String, Origin>,
        mistakes: &'a mut Vec<Mistake>,
    ) -> Self {
        Self {
            prefix: String::new(),
            origins,
            mistakes,
        }
    }

    /// Validates the section `inner` that stands under `key`.
    pub fn section(&mut self, key: &str, inner: &impl Validate) {
        let prefix = self.path(key);
        inner.validate(&mut Checks {
            prefix,
            origins: self.origins,
            mistakes: &mut *self.mistakes,
        });
    }

    /// Reports `value` unless it lies within `bounds`, both ends included.
    pub fn bounds<N: Copy + PartialOrd + Display>(
        &mut self,
        key: &str,
        value: N,
        bounds: &Bounds<N>,
    ) {
        if bounds.min <= value && value <= bounds.max {
            return;
        }
        self.push(
            key,
            Fault::OutOfBounds {
                value: value.to_string(),
                min: bounds.min.to_string(),
                max: bounds.max.to_string(),
                unit: bounds.unit,
            },
        );
    }

    /// Reports that the value of `key` breaks a rule; `rule_and_mend` reads on after the key and
    /// must not hold a secret.
    pub fn invalid(&mut self, key: &str, rule_and_mend: impl Into<String>) {
        self.push(key, Fault::Invalid(rule_and_mend.into()));
    }

    fn push(&mut self, key: &str, fault: Fault) {
        let key = self.path(key);
        let origin = self.origins.get(&key).cloned().unwrap_or(Origin::Default);
        self.mistakes.push(Mistake { key, origin, fault });
    }

    fn path(&self, key: &str) -> String {
        if self.prefix.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.prefix)
        }
    }
}
