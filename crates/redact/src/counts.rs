//! What was redacted, in numbers.

use std::collections::BTreeMap;

use crate::Rule;

/// How often each rule matched, and what the marks add to the tokens of the texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    by_rule: BTreeMap<Rule, u64>,
    tokens_added: i64,
}

impl Counts {
    /// How often each rule matched, in the order of the rules; none is zero.
    pub fn iter(&self) -> impl Iterator<Item = (Rule, u64)> + '_ {
        self.by_rule.iter().map(|(rule, count)| (*rule, *count))
    }

    /// How many secrets were replaced.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_rule.values().sum()
    }

    /// By how many tokens the redacted texts weigh more than the originals, at most; below zero: by how many less, at least.
    #[must_use]
    pub fn tokens_added(&self) -> i64 {
        self.tokens_added
    }

    /// The same counts for texts that are dropped whole: no mark takes a secret's place.
    #[must_use]
    pub fn without_tokens(self) -> Self {
        Self {
            tokens_added: 0,
            ..self
        }
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: &Self) {
        for (rule, count) in other.iter() {
            *self.by_rule.entry(rule).or_default() += count;
        }
        self.tokens_added += other.tokens_added;
    }

    pub(crate) fn count(&mut self, rule: Rule, tokens_added: i64) {
        *self.by_rule.entry(rule).or_default() += 1;
        self.tokens_added += tokens_added;
    }
}
