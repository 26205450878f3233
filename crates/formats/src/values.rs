//! Parses the texts of providers into ids, names and documents.

use domain::event::ToolOutput;
use domain::{CallId, JsonText, Label, Part, ToolName};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::reply::ParseError;

/// The tool name of a call without one.
pub(crate) const UNNAMED_TOOL: &str = "unnamed_tool";
/// The type of an error without a valid one.
pub(crate) const UNNAMED_FAILURE: &str = "error";
/// Bytes of the digest in a generated id.
const DIGEST_BYTES: usize = 10;

/// The error of a text that does not have the structure of the format: its position, without contents.
pub(crate) fn malformed(format: &'static str, error: &serde_json::Error) -> ParseError {
    let what = match error.classify() {
        serde_json::error::Category::Data => "a value of another type than expected",
        serde_json::error::Category::Eof => "an unexpected end",
        serde_json::error::Category::Syntax | serde_json::error::Category::Io => "invalid JSON",
    };
    let (line, column) = (error.line(), error.column());
    ParseError::malformed(format, format!("{what} at line {line}, column {column}"))
}

/// A value beside a reply, for example its usage; `None` if it is missing or is not what the format says: the reply is
/// complete without it.
pub(crate) fn optional<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let raw = Option::<&RawValue>::deserialize(deserializer)?;
    Ok(raw.and_then(|raw| serde_json::from_str(raw.get()).ok()))
}

/// A label; `None` for an empty text.
pub(crate) fn label(field: &str, text: Option<&str>) -> Result<Option<Label>, ParseError> {
    text.filter(|text| !text.is_empty())
        .map(|text| Label::parse(text).map_err(|violation| ParseError::unusable(field, violation)))
        .transpose()
}

/// The id of a call.
pub(crate) fn call_id(field: &str, text: &str) -> Result<CallId, ParseError> {
    CallId::parse(text).map_err(|violation| ParseError::unusable(field, violation))
}

/// The name of a tool; [`UNNAMED_TOOL`] for an empty text.
pub(crate) fn tool_name(field: &str, text: &str) -> Result<ToolName, ParseError> {
    let name = if text.is_empty() { UNNAMED_TOOL } else { text };
    ToolName::parse(name).map_err(|violation| ParseError::unusable(field, violation))
}

/// Generates the id of a call. Equal seeds (of the reply) and indexes give equal ids.
pub(crate) fn generated_call_id(seed: &str, index: usize) -> String {
    let digest = hex::encode(Sha256::digest(seed).get(..DIGEST_BYTES).unwrap_or_default());
    format!("call_{digest}_{index}")
}

/// The input of a call: `{}` for a blank text. A text that is not valid JSON becomes a JSON string, because models are
/// interrupted, and some tools accept free text.
pub(crate) fn input(text: &str) -> JsonText {
    if text.trim().is_empty() {
        return JsonText::recorded("{}".to_owned());
    }
    JsonText::parse(text).unwrap_or_else(|_| JsonText::recorded(Value::from(text).to_string()))
}

/// The output of a tool from one text: a document if the text is JSON.
pub(crate) fn output(text: &str) -> ToolOutput {
    match JsonText::parse(text) {
        Ok(json) => ToolOutput::Json(json),
        Err(_) if text.is_empty() => ToolOutput::Parts(Vec::new()),
        Err(_) => ToolOutput::Parts(vec![Part::Text(text.to_owned())]),
    }
}

/// The content of a JSON string, or the JSON text of another value. Servers write inputs in both ways.
pub(crate) fn unquoted(raw: &RawValue) -> String {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}

/// Whether the text is padded base64 of the standard alphabet, and not empty.
pub(crate) fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let is_digit = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/';
    text.len().is_multiple_of(4) && text.len() - digits.len() <= 2 && !digits.is_empty() && digits.chars().all(is_digit)
}

/// A provider's error: a text, or an object with `message` and `type` or `code`.
pub(crate) fn failure(error: &Value) -> ParseError {
    let text = |key: &str| error.get(key).and_then(Value::as_str);
    let code = error.get("code").and_then(Value::as_u64);
    let error_type = text("type")
        .or_else(|| text("code"))
        .map(str::to_owned)
        .or_else(|| code.map(|code| code.to_string()))
        .filter(|name| Label::parse(name.as_str()).is_ok())
        .unwrap_or_else(|| UNNAMED_FAILURE.to_owned());
    let message = text("message").or_else(|| error.as_str());
    ParseError::Failed { error_type, message: message.map_or_else(|| error.to_string(), str::to_owned) }
}

#[cfg(test)]
mod tests {
    use domain::bounds::{JSON_DEPTH_MAX, LABEL_BYTES_MAX};
    use serde_json::json;

    use super::*;

    #[test]
    fn inputs_are_always_json() {
        let check = |text: &str, expected: &str| assert_eq!(input(text).as_str(), expected);
        check("", "{}");
        check(" \n", "{}");
        check("{\"b\": 1e400,\"a\":1}", "{\"b\": 1e400,\"a\":1}");
        check("{\"a\":", "\"{\\\"a\\\":\"");
        check("free text", "\"free text\"");
        let deep = "[".repeat(JSON_DEPTH_MAX + 1) + &"]".repeat(JSON_DEPTH_MAX + 1);
        check(&deep, &format!("\"{deep}\""));
    }

    #[test]
    fn outputs_with_json_are_documents() {
        let json = |text: &str| ToolOutput::Json(JsonText::parse(text).unwrap());
        assert_eq!(output("{\"a\": 1}"), json("{\"a\": 1}"));
        assert_eq!(output("\"a\""), json("\"a\""));
        assert_eq!(output(""), ToolOutput::Parts(vec![]));
        let text = ToolOutput::Parts(vec![Part::Text("sunny".into())]);
        assert_eq!(output("sunny"), text);
    }

    #[test]
    fn failures_are_named() {
        let check = |error: Value, error_type: &str, message: &str| {
            let expected = ParseError::Failed { error_type: error_type.to_owned(), message: message.to_owned() };
            assert_eq!(failure(&error), expected);
        };
        check(json!({"type": "t", "message": "m"}), "t", "m");
        check(json!({"type": null, "code": "c", "message": "m"}), "c", "m");
        check(json!({"code": 429, "message": "m"}), "429", "m");
        check(json!("model not found"), "error", "model not found");
        let long = "x".repeat(LABEL_BYTES_MAX + 1);
        check(json!({"type": long, "message": "m"}), "error", "m");
        check(json!({"a": 1}), "error", "{\"a\":1}");
    }

    #[test]
    fn labels_at_their_bound() {
        let longest = "x".repeat(LABEL_BYTES_MAX);
        assert!(label("model", Some(&longest)).unwrap().is_some());
        assert_eq!(label("model", Some("")).unwrap(), None);
        let longer = "x".repeat(LABEL_BYTES_MAX + 1);
        let Err(ParseError::Unusable { field, .. }) = label("model", Some(&longer)) else {
            panic!("taken past its bound");
        };
        assert_eq!(field, "model");
    }

    #[test]
    fn generated_ids_depend_on_the_reply() {
        assert_eq!(generated_call_id("a", 0), generated_call_id("a", 0));
        assert_ne!(generated_call_id("a", 0), generated_call_id("b", 0));
        assert_eq!(generated_call_id("", 498), "call_e3b0c44298fc1c149afb_498");
    }
}
