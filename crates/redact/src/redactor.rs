//! The state of the redaction of one context.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::own_patterns::Search;
use crate::rules::Rules;

/// Redacts the texts of one context by the rules of a policy. What matching may cost is counted over all of them, so that the result
/// depends only on the texts and their order. Make one for each context.
#[derive(Debug)]
pub struct Redactor<'a> {
    pub(crate) rules: &'a Rules,
    search: Mutex<Search>,
}

impl Rules {
    /// Redaction of the texts of one context. The same texts in the same order give the same result.
    #[must_use]
    pub fn redactor(&self) -> Redactor<'_> {
        Redactor { rules: self, search: Mutex::default() }
    }
}

impl Redactor<'_> {
    /// The matches of the policy's patterns, in no order. They may overlap. If matching costs too much, the whole text is one: it may
    /// contain what the policy hides.
    pub(crate) fn pattern_matches(&self, text: &str) -> Vec<Range<usize>> {
        let Some(patterns) = &self.rules.patterns else {
            return Vec::new();
        };
        let mut search = self.search.lock().unwrap_or_else(PoisonError::into_inner);
        let matches = patterns.find(text, &mut search);
        matches.unwrap_or_else(|_| std::iter::once(0..text.len()).collect())
    }
}
