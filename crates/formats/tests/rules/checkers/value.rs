//! Helpers of the rules to read JSON. Absent fields are empty.

use serde_json::Value;

/// Maximum characters of a call id in the safe set of all providers.
const CALL_ID_CHARS_MAX: usize = 40;
/// Maximum characters of a tool name in the safe set of all providers.
const TOOL_NAME_CHARS_MAX: usize = 64;

/// The list in a field.
pub(super) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The text in a field.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a field is present and not null.
pub(super) fn has(value: &Value, field: &str) -> bool {
    value.get(field).is_some_and(|value| !value.is_null())
}

/// The fields of an object that are not among the known ones.
pub(super) fn unknown<'a>(value: &'a Value, known: &[&str]) -> Vec<&'a str> {
    let fields = value.as_object().into_iter().flatten();
    fields.map(|(field, _)| field.as_str()).filter(|field| !known.contains(field)).collect()
}

/// Whether a text is empty or white space.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Whether a text has 1 to `chars_max` ASCII letters, digits or `extra` characters.
pub(super) fn is_token(text: &str, chars_max: usize, extra: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || extra.contains(c);
    (1..=chars_max).contains(&text.chars().count()) && text.chars().all(allowed)
}

/// Whether a call id is in the safe set: `[A-Za-z0-9_-]{1,40}`.
pub(super) fn is_safe_call_id(id: &str) -> bool {
    is_token(id, CALL_ID_CHARS_MAX, "_-")
}

/// Whether a tool name is in the safe set: `[A-Za-z_][A-Za-z0-9_-]{0,63}`.
pub(super) fn is_safe_tool_name(name: &str) -> bool {
    starts_as_name(name) && is_token(name, TOOL_NAME_CHARS_MAX, "_-")
}

/// Whether a name starts with a letter or `_`.
pub(super) fn starts_as_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}
