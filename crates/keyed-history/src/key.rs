//! Computes a key from a caller's rules and variables: the first candidate that is a valid key.

use std::fmt;

use domain::violation::check_length;
use domain::{Violation, ViolationReason};

use crate::bounds::{CANDIDATES_MAX, KEY_CHARS_MAX, TEMPLATE_BYTES_MAX};
use crate::refused::{RefusedKey, RefusedReason};
use crate::template;
use crate::variables::Variables;

/// The characters that a key may contain besides letters and digits.
const MARKS: &str = "_.:@/+=-";

/// The caller's key of a chat: 1 to [`KEY_CHARS_MAX`] letters and digits of any script, and `_ . : @ / + = -`. It contains no
/// white space, control characters or braces. Keys are compared character by character.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HistoryKey(String);

impl HistoryKey {
    /// Parses a key.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn parse(text: impl Into<String>) -> Result<Self, RefusedReason> {
        let text: String = text.into();
        if text.trim().is_empty() {
            return Err(RefusedReason::Empty);
        }
        if text.contains("{{") {
            return Err(RefusedReason::Unresolved);
        }
        if text.chars().nth(KEY_CHARS_MAX).is_some() {
            return Err(RefusedReason::TooLong);
        }
        let is_allowed = |c: char| c.is_alphanumeric() || MARKS.contains(c);
        if !text.chars().all(is_allowed) {
            return Err(RefusedReason::BadCharacters);
        }
        Ok(Self(text))
    }

    /// The key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HistoryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The rules for a key. Each text is a literal or a template for [`template::render`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyRules<'texts> {
    /// The first candidate.
    pub template: Option<&'texts str>,
    /// The next candidates, in this order.
    pub candidates: &'texts [&'texts str],
}

impl KeyRules<'_> {
    /// Checks [`CANDIDATES_MAX`] and [`TEMPLATE_BYTES_MAX`].
    ///
    /// # Errors
    /// [`ViolationReason::OutOfRange`] or [`ViolationReason::TooLong`], with the name of the field: `history_key_template` or
    /// `history_key_candidates`.
    pub fn check(&self) -> Result<(), Violation> {
        let fits = |text: &str| check_length(text.len(), TEMPLATE_BYTES_MAX);
        fits(self.template.unwrap_or_default()).map_err(|violation| violation.within("history_key_template"))?;
        check_candidates(self.candidates.len())
            .and_then(|()| {
                let mut candidates = self.candidates.iter().enumerate();
                candidates.try_for_each(|(index, text)| fits(text).map_err(|violation| violation.at(index)))
            })
            .map_err(|violation| violation.within("history_key_candidates"))
    }
}

fn check_candidates(count: usize) -> Result<(), Violation> {
    if count <= CANDIDATES_MAX {
        return Ok(());
    }
    Err(Violation::new(
        ViolationReason::OutOfRange,
        format!("has {count} entries, at most {CANDIDATES_MAX} are allowed"),
    ))
}

/// The result of the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The first candidate that is a key.
    pub key: Option<HistoryKey>,
    /// The candidates before it, in order; all of them if there is no key.
    pub refused: Vec<RefusedKey>,
}

/// Computes the key from the rules and the variables.
#[must_use]
pub fn resolve(rules: &KeyRules<'_>, variables: &Variables) -> Resolution {
    let mut refused = Vec::new();
    for candidate in rules.template.iter().chain(rules.candidates) {
        match template::render(candidate, variables).and_then(HistoryKey::parse) {
            Ok(key) => {
                return Resolution { key: Some(key), refused };
            }
            Err(reason) => refused.push(RefusedKey { candidate: (*candidate).to_owned(), reason }),
        }
    }
    Resolution { key: None, refused }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(), RefusedReason>) {
        assert_eq!(HistoryKey::parse(text).map(drop), expected, "{text:?}");
    }

    #[test]
    fn keys_at_their_bounds() {
        for text in ["a", "support-room-1", "telegram:-100200", "a_b.c@d/e+f=", "用户:7", "é"] {
            check(text, Ok(()));
        }
        check("", Err(RefusedReason::Empty));
        check(" \n", Err(RefusedReason::Empty));
        for text in ["a b", " a", "a\n", "a\0", "a{b}", "a'b", "a\u{200b}b", "a\u{202e}b", "a*", "a>"] {
            check(text, Err(RefusedReason::BadCharacters));
        }
        check("a{{b", Err(RefusedReason::Unresolved));
        for letter in ["x", "é", "用"] {
            check(&letter.repeat(KEY_CHARS_MAX), Ok(()));
            check(&letter.repeat(KEY_CHARS_MAX + 1), Err(RefusedReason::TooLong));
        }
    }

    #[test]
    fn rules_at_their_bounds() {
        let check = |template: &str, candidates: &[&str], expected: Option<(&str, ViolationReason)>| {
            let rules = KeyRules { template: Some(template), candidates };
            let violation = rules.check().err();
            let seen = violation.map(|violation| (violation.field, violation.reason));
            assert_eq!(seen, expected.map(|(field, reason)| (domain::FieldPath::from(field), reason)));
        };
        let (fits, over) = ("x".repeat(TEMPLATE_BYTES_MAX), "x".repeat(TEMPLATE_BYTES_MAX + 1));
        check(&fits, &[fits.as_str(); CANDIDATES_MAX], None);
        check(&over, &[], Some(("history_key_template", ViolationReason::TooLong)));
        check("", &["", &over], Some(("history_key_candidates[1]", ViolationReason::TooLong)));
        let too_many = [""; CANDIDATES_MAX + 1];
        check("", &too_many, Some(("history_key_candidates", ViolationReason::OutOfRange)));
    }
}
