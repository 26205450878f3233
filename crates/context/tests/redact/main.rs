//! Redaction: tables of what is kept back and of what stays, by texts and by JSON documents, and its properties.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests end a test by panicking"
)]

mod json;
mod properties;
mod speed;
mod texts;
mod turns;

use context::policy::Redact;
use context::stages::redact::{Redactions, Rules, redact_text};

/// The rules of a policy, as JSON.
fn rules(policy: &str) -> Rules {
    let redact: Redact = serde_json::from_str(policy).unwrap();
    Rules::compile(&redact).unwrap()
}

/// The text, redacted, with what was found.
fn redacted(text: &str, rules: &Rules) -> (String, Redactions) {
    let mut text = text.to_owned();
    let found = redact_text(&mut text, rules);
    (text, found)
}

/// Checks a text whose marks are written `«rule»`, and that redacting again changes nothing.
fn check_by(policy: &str, text: &str, expected: &str) {
    let rules = rules(policy);
    let (told, found) = redacted(text, &rules);
    let expected = expected.replace('«', "[redacted:").replace('»', "]");
    assert_eq!(told, expected, "{text}");
    let again = redacted(&told, &rules);
    assert_eq!(
        again,
        (told.clone(), Redactions::default()),
        "again: {text}"
    );
    if !text.contains("[redacted:") {
        let marks = u64::try_from(told.matches("[redacted:").count()).unwrap();
        assert_eq!(found.total(), marks, "{text}");
    }
}
