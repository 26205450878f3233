//! JSON documents that are checked and stored verbatim.

use serde_json::value::RawValue;

use crate::bounds::JSON_DEPTH_MAX;
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
                format!(
                    "is not valid JSON at line {}, column {}",
                    error.line(),
                    error.column()
                ),
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
            return Err(Violation::new(
                ViolationReason::InvalidJson,
                "is not a JSON object",
            ));
        }
        if escapes_nul(&text.0) {
            return Err(Violation::new(
                ViolationReason::NulCharacter,
                "contains U+0000, which metadata cannot store: remove it",
            ));
        }
        Ok(text)
    }

    /// Takes a text of the record, which was checked when it was recorded.
    #[must_use]
    pub fn recorded(text: String) -> Self {
        Self(text.into_boxed_str())
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

#[cfg(test)]
mod tests {
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
        check(
            metadata(" {\"a\":1e400, \"b\":123456789012345678901234567890}"),
            None,
        );
        check(metadata("{\"a\":\"\\\\u0000\"}"), None);
        check(
            metadata("{\"a\":\"\\\\\\u0000\"}"),
            Some(ViolationReason::NulCharacter),
        );
        check(metadata("[]"), Some(ViolationReason::InvalidJson));
        check(
            metadata("{\"a\":[\"\\u0000\"]}"),
            Some(ViolationReason::NulCharacter),
        );
        check(
            metadata("{\"\\u0000\":1}"),
            Some(ViolationReason::NulCharacter),
        );
        let sized = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        check(metadata(&sized(METADATA_BYTES_MAX)), None);
        check(
            metadata(&sized(METADATA_BYTES_MAX + 1)),
            Some(ViolationReason::TooLong),
        );
    }

    #[test]
    fn nesting_at_its_bound_and_one_past() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        check(JsonText::parse(nested(JSON_DEPTH_MAX)), None);
        check(
            JsonText::parse(format!("\"{}\\\"[\"", "[".repeat(JSON_DEPTH_MAX + 1))),
            None,
        );
        check(
            JsonText::parse(nested(JSON_DEPTH_MAX + 1)),
            Some(ViolationReason::InvalidJson),
        );
    }
}
