//! JSON documents that are checked and stored verbatim.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::bounds::{DOCUMENT_NUMBER_MAX, JSON_DEPTH_MAX};
use crate::surrogates;
use crate::violation::{Violation, ViolationReason, check_length};

/// One JSON document, byte for byte: numbers, key order and white space are preserved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JsonText(Box<str>);

impl JsonText {
    /// Checks that the text is one JSON value with at most [`JSON_DEPTH_MAX`] levels.
    ///
    /// # Errors
    /// [`ViolationReason::Missing`] for empty text, [`ViolationReason::InvalidJson`] with line and column otherwise.
    pub fn parse(text: impl Into<String>) -> Result<Self, Violation> {
        let text: String = text.into();
        if text.is_empty() {
            return Err(Violation::new(
                ViolationReason::Missing,
                "is required and was empty: give a JSON value, such as {} or null",
            ));
        }
        if let Err(error) = serde_json::from_str::<&RawValue>(&text) {
            return Err(Violation::new(
                ViolationReason::InvalidJson,
                format!("is not valid JSON at line {}, column {}", error.line(), error.column()),
            ));
        }
        let depth = depth_of(&text);
        if depth > JSON_DEPTH_MAX {
            return Err(Violation::new(
                ViolationReason::InvalidJson,
                format!("has {depth} levels, at most {JSON_DEPTH_MAX} are allowed"),
            ));
        }
        Ok(Self(text.into_boxed_str()))
    }

    /// Checks that the text is a JSON object of at most `bytes_max` bytes without U+0000, raw or escaped, as metadata must be.
    ///
    /// # Errors
    /// [`ViolationReason::TooLong`], [`ViolationReason::InvalidJson`] or [`ViolationReason::NulCharacter`].
    pub fn parse_metadata(text: impl Into<String>, bytes_max: usize) -> Result<Self, Violation> {
        let text: String = text.into();
        check_length(text.len(), bytes_max)?;
        let text = Self::parse(text)?;
        if !text.0.trim_start().starts_with('{') {
            return Err(Violation::new(ViolationReason::InvalidJson, "is not a JSON object"));
        }
        if escapes_nul(&text.0) {
            return Err(Violation::new(
                ViolationReason::NulCharacter,
                "contains U+0000, which metadata cannot store: remove it",
            ));
        }
        Ok(text)
    }

    /// Checks that the text is a JSON value of at most `bytes_max` bytes that the read models can compare: without U+0000 and
    /// single surrogates, and with numbers of at most [`DOCUMENT_NUMBER_MAX`] bytes and as large a power of ten.
    ///
    /// # Errors
    /// [`ViolationReason::TooLong`], [`ViolationReason::InvalidJson`], [`ViolationReason::NulCharacter`] or
    /// [`ViolationReason::OutOfRange`].
    pub fn parse_comparable(text: impl Into<String>, bytes_max: usize) -> Result<Self, Violation> {
        let text: String = text.into();
        check_length(text.len(), bytes_max)?;
        let text = Self::parse(text)?;
        check_escapes(&text.0)?;
        check_numbers(&text.0)?;
        Ok(text)
    }

    /// Takes a text of the record, which was checked when it was recorded.
    #[must_use]
    pub fn recorded(text: String) -> Self {
        Self(text.into_boxed_str())
    }

    /// The document with U+FFFD instead of escaped halves of surrogate pairs; `None`: it has none.
    #[must_use]
    pub fn without_halves(&self) -> Option<Self> {
        match surrogates::without_unpaired(self.0.as_bytes()) {
            Cow::Borrowed(_) => None,
            // The replacement is ASCII, so the text is UTF-8.
            Cow::Owned(bytes) => Some(Self::recorded(String::from_utf8_lossy(&bytes).into_owned())),
        }
    }

    /// The text, byte for byte.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The levels of valid JSON: 0 for a scalar, 1 for a flat array or object.
fn depth_of(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Whether valid JSON contains U+0000. It can only contain it escaped, in a string.
fn escapes_nul(json: &str) -> bool {
    let mut rest = json.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let escape = rest.get(at + 1..).unwrap_or_default();
        if escape.starts_with(b"u0000") {
            return true;
        }
        rest = escape.get(1..).unwrap_or_default();
    }
    false
}

/// Rejects U+0000 and single surrogates in the strings of valid JSON, which can contain them only as escapes.
fn check_escapes(json: &str) -> Result<(), Violation> {
    let mut rest = json;
    let mut high_surrogate = false;
    while let Some((before, escape)) = rest.split_once('\\') {
        let unit = escape
            .strip_prefix('u')
            .and_then(|digits| digits.get(..4))
            .and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let is_low = matches!(unit, Some(0xDC00..=0xDFFF));
        if is_low != high_surrogate || (high_surrogate && !before.is_empty()) {
            return Err(single_surrogate());
        }
        if unit == Some(0) {
            return Err(Violation::new(
                ViolationReason::NulCharacter,
                "contains U+0000, which a document cannot store: remove it",
            ));
        }
        high_surrogate = matches!(unit, Some(0xD800..=0xDBFF));
        rest = escape.get(if unit.is_some() { 5 } else { 1 }..).unwrap_or_default();
    }
    if high_surrogate {
        return Err(single_surrogate());
    }
    Ok(())
}

fn single_surrogate() -> Violation {
    Violation::new(ViolationReason::InvalidJson, "contains half of a surrogate pair: escape characters whole")
}

/// Rejects numbers of valid JSON that the read models cannot store.
fn check_numbers(json: &str) -> Result<(), Violation> {
    let mut parts = json.split('"').enumerate();
    let mut in_string = false;
    let mut previous = "";
    parts.try_for_each(|(index, part)| {
        // A quote ends or begins a string, unless an odd number of backslashes precedes it in a string.
        let backslashes = previous.len() - previous.trim_end_matches('\\').len();
        if index > 0 && !(in_string && backslashes % 2 == 1) {
            in_string = !in_string;
        }
        previous = part;
        if in_string { Ok(()) } else { check_numbers_of(part) }
    })
}

fn check_numbers_of(part: &str) -> Result<(), Violation> {
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    for number in part.split(|c: char| !is_of_number(c)) {
        let exponent = number
            .split_once(['e', 'E'])
            .map(|(_, exponent)| exponent)
            .filter(|exponent| !exponent.is_empty() && number.len() > 1);
        let is_large = exponent.is_some_and(|exponent| {
            let digits = exponent.trim_start_matches(['+', '-']).trim_start_matches('0');
            digits.len() > 4 || digits.parse::<usize>().is_ok_and(|power| power > DOCUMENT_NUMBER_MAX)
        });
        if number.len() > DOCUMENT_NUMBER_MAX || is_large {
            return Err(Violation::new(
                ViolationReason::OutOfRange,
                format!(
                    "has a number of more than {DOCUMENT_NUMBER_MAX} bytes, or with a larger power of ten: write it as a string"
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::bounds::METADATA_BYTES_MAX;

    fn check(outcome: Result<JsonText, Violation>, expected: Option<ViolationReason>) {
        assert_eq!(outcome.err().map(|violation| violation.reason), expected);
    }

    #[test]
    fn documents_are_kept_verbatim() {
        for text in [
            "0.1000000000000000055511151231257827",
            "123456789012345678901234567890",
            "{\"b\": 1,  \"a\":2, \"b\":3}",
            "1e400",
            "\"\\u0000\"",
            " null ",
        ] {
            assert_eq!(JsonText::parse(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn halves_of_surrogate_pairs_are_kept_and_can_be_replaced() {
        let text = JsonText::parse(r#"{"a": "\ud83d\ud83d\ude00"}"#).unwrap();
        assert_eq!(text.as_str(), r#"{"a": "\ud83d\ud83d\ude00"}"#);
        let whole = text.without_halves().unwrap();
        assert_eq!((whole.as_str(), whole.without_halves()), (r#"{"a": "\ufffd\ud83d\ude00"}"#, None));
    }

    #[test]
    fn invalid_json_is_rejected() {
        check(JsonText::parse(""), Some(ViolationReason::Missing));
        for text in ["{", "{} {}", "nul", "'a'", "{\"a\":01}", "\"\u{1}\""] {
            check(JsonText::parse(text), Some(ViolationReason::InvalidJson));
        }
    }

    #[test]
    fn metadata_is_an_object_without_nul_within_its_bound() {
        let metadata = |text: &str| JsonText::parse_metadata(text, METADATA_BYTES_MAX);
        check(metadata("{\"a\":\"é\"}"), None);
        check(metadata(" {\"a\":1e400, \"b\":123456789012345678901234567890}"), None);
        check(metadata("{\"a\":\"\\\\u0000\"}"), None);
        check(metadata("{\"a\":\"\\\\\\u0000\"}"), Some(ViolationReason::NulCharacter));
        check(metadata("[]"), Some(ViolationReason::InvalidJson));
        check(metadata("{\"a\":[\"\\u0000\"]}"), Some(ViolationReason::NulCharacter));
        check(metadata("{\"\\u0000\":1}"), Some(ViolationReason::NulCharacter));
        let sized = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        check(metadata(&sized(65_536)), None);
        check(metadata(&sized(65_537)), Some(ViolationReason::TooLong));
    }

    #[test]
    fn values_of_documents_can_be_compared() {
        let comparable = |text: &str| JsonText::parse_comparable(text, 2_000);
        for text in [
            "null",
            "[true, false, 1e1000, -1E-1000, 1e+0001000, 0.5]",
            "{\"1e5000\": \"1e5000 \\\" 1e5000 \\\\\"}",
            "\"\\ud83d\\ude00 \\\\ud83d \\\\u0000 \\n\\u0041\"",
            "[\"\\\\\", \"e\", \"\\\"\"]",
        ] {
            check(comparable(text), None);
            serde_json::from_str::<Value>(&text.replace("1e1000", "1").replace("1e+0001000", "1")).unwrap();
        }
        let large = Some(ViolationReason::OutOfRange);
        for text in ["1e1001", "[1, -2E-1001]", "{\"a\\\"\": 1e+1001}", "[\"\\\\\", 1e99999999999999999999]"] {
            check(comparable(text), large);
        }
        check(comparable(&"1".repeat(1_000)), None);
        check(comparable(&"1".repeat(1_001)), large);
        let nul = Some(ViolationReason::NulCharacter);
        check(comparable("{\"\\u0000\": 1}"), nul);
        for text in [
            "\"\\ud83d\"",
            "\"\\ude00\"",
            "\"\\ud83d \\ude00\"",
            "\"\\ud83d\\n\"",
            "\"\\ud83d\\ud83d\\ude00\"",
            "[\"\\ud83d\", \"\\ude00\"]",
        ] {
            check(comparable(text), Some(ViolationReason::InvalidJson));
        }
        let sized = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
        check(comparable(&sized(2_000)), None);
        check(comparable(&sized(2_001)), Some(ViolationReason::TooLong));
    }

    #[test]
    fn nesting_at_its_bound_and_one_past() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        check(JsonText::parse(nested(128)), None);
        check(JsonText::parse(format!("\"{}\\\"[\"", "[".repeat(129))), None);
        check(JsonText::parse(nested(129)), Some(ViolationReason::InvalidJson));
        // Brackets in strings do not count, and neighbours do not add up.
        let in_strings = |depth: usize| format!("{}0{}", "{\"]}[{\":[\"]}[{\",".repeat(depth), "]}".repeat(depth));
        check(JsonText::parse(in_strings(64)), None);
        check(JsonText::parse(in_strings(65)), Some(ViolationReason::InvalidJson));
        check(JsonText::parse(format!("[{}0]", "[],{},".repeat(200))), None);
    }

    proptest! {
        #[test]
        fn levels_are_those_of_the_value(value in values()) {
            prop_assert_eq!(depth_of(&value.to_string()), levels(&value));
        }
    }

    fn levels(value: &Value) -> usize {
        let inner = match value {
            Value::Array(items) => items.iter().map(levels).max(),
            Value::Object(fields) => fields.values().map(levels).max(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
        };
        1 + inner.unwrap_or(0)
    }

    fn values() -> impl Strategy<Value = Value> {
        const TEXT: &str = r#"[\[\]{}"\\a]{0,4}"#;
        let scalars = prop_oneof![Just(Value::Null), TEXT.prop_map(Value::String)];
        scalars.prop_recursive(5, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::btree_map(TEXT, inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }
}
