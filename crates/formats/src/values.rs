//! Parses the texts of providers into ids, names and documents.

use domain::event::ToolOutput;
use domain::{CallId, JsonText, Label, Part, ToolName};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};

use crate::reply::ParseError;

/// The tool name of a call without one.
pub(crate) const UNNAMED_TOOL: &str = "unnamed_tool";
/// The finish reason of a reply whose own an event cannot contain.
pub(crate) const UNREADABLE_REASON: &str = "unreadable";
/// The type of an error without a valid one.
pub(crate) const UNNAMED_FAILURE: &str = "error";
/// The largest integer that floats represent exactly, like all smaller ones.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;
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

/// A number of tokens, also as `2.0`. Anything else is an error: counts of which one cannot be read are no counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count(u64);

impl Count {
    /// The number; 0 if it is missing.
    pub(crate) fn or_zero(count: Option<Self>) -> u64 {
        count.map_or(0, |Self(count)| count)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Number::deserialize(deserializer)?;
        let count = number.as_u64().or_else(|| whole(number.as_f64()?));
        count.map(Self).ok_or_else(|| D::Error::custom("a number of tokens is a whole number"))
    }
}

/// A float that is a whole number which floats represent exactly.
fn whole(float: f64) -> Option<u64> {
    // A whole float has no other digits than an integer.
    let is_whole = float.fract() == 0.0 && (0.0..=MAX_SAFE_INTEGER).contains(&float);
    is_whole.then(|| format!("{float:.0}").parse().ok()).flatten()
}

/// A text of a provider beside its reply, such as the name of the model; `None` if it is missing or an event cannot contain it: the reply is
/// complete without it.
pub(crate) fn reported(text: Option<&str>) -> Option<Label> {
    text.filter(|text| !text.is_empty()).and_then(|text| Label::parse(text).ok())
}

/// Why a reply ended; `None` if it has not ended.
pub(crate) fn finish_reason(text: Option<&str>) -> Option<Label> {
    let text = text.filter(|text| !text.is_empty())?;
    Label::parse(text).or_else(|_| Label::parse(UNREADABLE_REASON)).ok()
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
    fn counts_are_whole_numbers() {
        #[derive(Deserialize)]
        struct Counts {
            count: Option<Count>,
        }
        let read = |json: &str| serde_json::from_str::<Counts>(&format!(r#"{{"count":{json}}}"#)).ok();
        let check = |json: &str, expected: Option<u64>| {
            assert_eq!(read(json).unwrap().count, expected.map(Count), "{json}");
        };
        check("null", None);
        check("3", Some(3));
        check("2.0", Some(2));
        check("2e2", Some(200));
        check("18446744073709551615", Some(u64::MAX));
        check("4503599627370496.0", Some(4_503_599_627_370_496));
        for unreadable in ["9007199254740993.0", "1e300", "1e999", "-1", "-1.0", "2.5", "[]", "{}", "\"7\"", "true"] {
            assert!(read(unreadable).is_none(), "{unreadable}");
        }
        assert_eq!(serde_json::from_str::<Counts>("{}").unwrap().count, None);
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
    fn a_reply_is_kept_without_labels_that_cannot_be_recorded() {
        let (longest, longer) = ("x".repeat(LABEL_BYTES_MAX), "x".repeat(LABEL_BYTES_MAX + 1));
        assert_eq!(reported(Some(&longest)), Label::parse(&longest).ok());
        assert_eq!((reported(Some(&longer)), reported(Some("")), reported(None)), (None, None, None));
        let unreadable = Label::parse(UNREADABLE_REASON).ok();
        assert_eq!(finish_reason(Some(&longest)), Label::parse(&longest).ok());
        assert_eq!((finish_reason(Some(&longer)), finish_reason(Some(""))), (unreadable, None));
    }

    #[test]
    fn generated_ids_depend_on_the_reply() {
        assert_eq!(generated_call_id("a", 0), generated_call_id("a", 0));
        assert_ne!(generated_call_id("a", 0), generated_call_id("b", 0));
        assert_eq!(generated_call_id("", 498), "call_e3b0c44298fc1c149afb_498");
    }
}
