//! Counts of what was redacted.

use std::collections::BTreeMap;

use crate::Rule;

/// How often each rule matched, and how many tokens the marks add to the texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    by_rule: BTreeMap<Rule, u64>,
    tokens_added: i64,
}

impl Counts {
    /// How often each rule matched, in the order of the rules. No count is zero.
    pub fn iter(&self) -> impl Iterator<Item = (Rule, u64)> + '_ {
        self.by_rule.iter().map(|(rule, count)| (*rule, *count))
    }

    /// The number of replaced secrets.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_rule.values().sum()
    }

    /// Upper bound of the tokens of the redacted texts minus the tokens of the originals. May be negative.
    #[must_use]
    pub fn tokens_added(&self) -> i64 {
        self.tokens_added
    }

    /// The same counts without tokens: for texts that are dropped, and therefore have no marks.
    #[must_use]
    pub fn without_tokens(self) -> Self {
        Self { tokens_added: 0, ..self }
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
