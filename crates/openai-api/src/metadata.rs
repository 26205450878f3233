//! The metadata of a conversation, within OpenAI's bounds.

use std::collections::BTreeMap;

use domain::{JsonText, Violation, ViolationReason};
use serde_json::value::RawValue;

/// Most pairs.
pub const METADATA_PAIRS_MAX: usize = 16;
/// Most characters of a key.
pub const METADATA_KEY_CHARS_MAX: usize = 64;
/// Most characters of a value.
pub const METADATA_VALUE_CHARS_MAX: usize = 512;

/// Metadata without pairs.
#[must_use]
pub fn empty() -> JsonText {
    JsonText::recorded("{}".to_owned())
}

/// Metadata of a request, as JSON text; `null` and absent are without pairs.
///
/// # Errors
/// 400: it is not an object of strings, or exceeds a bound.
pub fn checked(given: Option<&RawValue>) -> Result<String, Violation> {
    let Some(given) = given.filter(|given| given.get() != "null") else {
        return Ok("{}".to_owned());
    };
    let pairs: Result<BTreeMap<String, String>, _> = serde_json::from_str(given.get());
    let outcome = match pairs {
        Ok(pairs) => check(&pairs).map(|()| given.get().to_owned()),
        Err(_) => Err(Violation::new(ViolationReason::Malformed, "is not an object whose values are strings")),
    };
    outcome.map_err(|violation| violation.within("metadata"))
}

fn check(pairs: &BTreeMap<String, String>) -> Result<(), Violation> {
    if pairs.len() > METADATA_PAIRS_MAX {
        let rule = format!("has {} pairs, at most {METADATA_PAIRS_MAX} are allowed", pairs.len());
        return Err(Violation::new(ViolationReason::TooLong, rule));
    }
    for (key, value) in pairs {
        chars("key", key, METADATA_KEY_CHARS_MAX)?;
        chars("value", value, METADATA_VALUE_CHARS_MAX)?;
    }
    Ok(())
}

fn chars(noun: &str, text: &str, chars_max: usize) -> Result<(), Violation> {
    let chars = text.chars().count();
    if chars > chars_max {
        let rule = format!("has a {noun} of {chars} characters, at most {chars_max} are allowed");
        return Err(Violation::new(ViolationReason::TooLong, rule));
    }
    if text.contains('\0') {
        let rule = format!("has a {noun} with U+0000, which metadata cannot store: remove it");
        return Err(Violation::new(ViolationReason::NulCharacter, rule));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(given: &Value, is_accepted: bool) {
        let raw = serde_json::value::to_raw_value(given).unwrap();
        let outcome = checked(Some(&raw));
        assert_eq!(outcome.is_ok(), is_accepted, "{outcome:?}");
        if let Err(problem) = outcome {
            assert_eq!(problem.field, "metadata");
        }
    }

    #[test]
    fn bounds_at_their_edges() {
        let pairs = |count: usize| -> Value {
            let pairs = (0..count).map(|index| (index.to_string(), json!("x")));
            Value::Object(pairs.collect())
        };
        check(&pairs(16), true);
        check(&pairs(17), false);
        check(&json!({"é".repeat(64): "x"}), true);
        check(&json!({"é".repeat(65): "x"}), false);
        check(&json!({"a": "é".repeat(512)}), true);
        check(&json!({"a": "é".repeat(513)}), false);
        check(&json!({"a": 1}), false);
        check(&json!({"a": "\0"}), false);
        check(&json!([]), false);
        check(&Value::Null, true);
    }
}
