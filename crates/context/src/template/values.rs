//! Texts and JSON documents as templates see them: data only.

use std::collections::BTreeMap;

use domain::JsonText;
use domain::json_string::decode;
use minijinja::Value;
use serde_json::value::RawValue;

/// The text without control characters and direction marks; line breaks and tabs become spaces.
pub(crate) fn clean(text: &str) -> String {
    let kept = text.chars().filter_map(|character| match character {
        '\t' | '\n' | '\r' | '\u{2028}' | '\u{2029}' => Some(' '),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => None,
        _ if character.is_control() => None,
        _ => Some(character),
    });
    kept.collect()
}

/// A document. Missing and null members are undefined and print as nothing.
pub(crate) fn json(document: &JsonText) -> Value {
    serde_json::from_str(document.as_str()).map_or(Value::UNDEFINED, value)
}

/// Numbers outside the range of machine numbers remain as text: a large number is no error.
fn value(raw: &RawValue) -> Value {
    let text = raw.get();
    match text.bytes().next() {
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap_or_default();
            members.into_iter().map(|(key, raw)| (key, value(raw))).collect()
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            Value::from(items.into_iter().map(value).collect::<Vec<Value>>())
        }
        Some(b'"') => {
            let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            Value::from(clean(&decode(inside.unwrap_or_default()).text))
        }
        Some(b't') => Value::from(true),
        Some(b'f') => Value::from(false),
        Some(b'n') | None => Value::UNDEFINED,
        Some(_) => number(text),
    }
}

fn number(text: &str) -> Value {
    if let Ok(whole) = text.parse::<i128>() {
        return Value::from(whole);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && text.contains(['.', 'e', 'E']) => Value::from(number),
        _ => Value::from(text),
    }
}
