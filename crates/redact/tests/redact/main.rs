//! Redaction: tables of what is kept back and of what stays, by texts and by JSON documents, and its properties.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests end a test by panicking"
)]

mod json;
mod properties;
mod speed;
mod texts;

use redact::{Counts, Rules, Settings, redact_text};

/// The rules of a policy, as JSON.
fn rules(policy: &str) -> Rules {
    let settings: Settings = serde_json::from_str(policy).unwrap();
    Rules::compile(&settings).unwrap()
}

/// The text, redacted, with what was found.
fn redacted(text: &str, rules: &Rules) -> (String, Counts) {
    let mut found = Counts::default();
    let redacted = redact_text(text, rules, &mut found);
    (redacted.unwrap_or_else(|| text.to_owned()), found)
}

/// Checks a text whose marks are written `«rule»`, and that redacting again changes nothing.
fn check_by(policy: &str, text: &str, expected: &str) {
    let rules = rules(policy);
    let (told, found) = redacted(text, &rules);
    check_weight(text, &told, &found);
    let expected = expected.replace('«', "[redacted:").replace('»', "]");
    assert_eq!(told, expected, "{text}");
    let again = redacted(&told, &rules);
    assert_eq!(again, (told.clone(), Counts::default()), "again: {text}");
    if !text.contains("[redacted:") {
        let marks = u64::try_from(told.matches("[redacted:").count()).unwrap();
        assert_eq!(found.total(), marks, "{text}");
    }
}

/// Checks that what was redacted weighs no more than is told of it.
fn check_weight(text: &str, told: &str, found: &Counts) {
    let weigh = |text: &str| i64::from(tokens::count_text(text));
    let added = weigh(told) - weigh(text);
    assert!(
        added <= found.tokens_added(),
        "{added} added, {} told: {text:?} became {told:?}",
        found.tokens_added()
    );
}
