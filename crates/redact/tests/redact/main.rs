//! Redaction: tables of texts and JSON documents with secrets and without, and properties.
#![expect(clippy::unwrap_used, reason = "test helpers fail a test by panicking")]

mod json;
mod properties;
mod speed;
mod texts;

use redact::{Counts, Rules, Settings, redact_text};

#[test]
fn bounds_are_these_numbers() {
    assert_eq!(redact::PATTERN_SIZE_BYTES_MAX, 1_048_576);
    assert_eq!(redact::PATTERNS_SIZE_BYTES_MAX, 4_194_304);
}

/// Compiles the rules of a policy in JSON.
fn rules(policy: &str) -> Rules {
    let settings: Settings = serde_json::from_str(policy).unwrap();
    Rules::compile(&settings).unwrap()
}

/// The redacted text, and the counts.
fn redacted(text: &str, rules: &Rules) -> (String, Counts) {
    let mut found = Counts::default();
    let redacted = redact_text(text, &rules.redactor(), &mut found);
    (redacted.unwrap_or_else(|| text.to_owned()), found)
}

/// Checks a redacted text, in which `«rule»` is a mark, and that redacting it again changes nothing.
fn check_by(policy: &str, text: &str, expected: &str) {
    let rules = rules(policy);
    let (redacted_text, found) = redacted(text, &rules);
    check_tokens(text, &redacted_text, &found);
    let expected = expected.replace('«', "[redacted:").replace('»', "]");
    assert_eq!(redacted_text, expected, "{text}");
    let again = redacted(&redacted_text, &rules);
    assert_eq!(again, (redacted_text.clone(), Counts::default()), "again: {text}");
    if !text.contains("[redacted:") {
        let marks = u64::try_from(redacted_text.matches("[redacted:").count()).unwrap();
        assert_eq!(found.total(), marks, "{text}");
    }
}

/// Checks that redaction adds at most as many tokens as the counts report.
fn check_tokens(text: &str, redacted: &str, found: &Counts) {
    let count = |text: &str| i64::from(tokens::count_text(text));
    let (added, reported) = (count(redacted) - count(text), found.tokens_added());
    assert!(added <= reported, "{added} added, {reported} reported: {text:?} became {redacted:?}");
}
