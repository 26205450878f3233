//! The pieces of a reply as one JSON text. A secret that was split over pieces is contiguous in it, and can be redacted.

use formats::Delta;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::request_metrics::size_bytes;

/// Maximum bytes of a body in an exchange. A larger body is omitted, never cut, so that redaction always sees whole bodies.
pub const EXCHANGE_BODY_BYTES_MAX: usize = 2 * 1_024 * 1_024;

/// The received part of a reply. Empty if it exceeds the bound.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RecordedReply {
    #[serde(skip_serializing_if = "String::is_empty")]
    thinking: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    refusal: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<RecordedCall>,
    #[serde(skip_serializing_if = "String::is_empty")]
    error: String,
    #[serde(skip)]
    bytes: usize,
}

#[derive(Debug, Default, Serialize)]
struct RecordedCall {
    name: String,
    #[serde(serialize_with = "as_json")]
    input: String,
    #[serde(skip)]
    index: usize,
}

impl RecordedReply {
    pub(crate) fn add(&mut self, delta: &Delta) {
        self.bytes += size_bytes(delta);
        if self.bytes > EXCHANGE_BODY_BYTES_MAX {
            *self = Self { bytes: self.bytes, ..Self::default() };
            return;
        }
        match delta {
            Delta::Text(text) => self.text.push_str(text),
            Delta::Thinking(text) => self.thinking.push_str(text),
            Delta::Refusal(text) => self.refusal.push_str(text),
            Delta::CallBegan { index, tool_name, .. } => {
                self.calls.push(RecordedCall { name: tool_name.clone(), input: String::new(), index: *index });
            }
            Delta::CallInput { index, fragment } => {
                let call = self.calls.iter_mut().find(|call| call.index == *index);
                if let Some(call) = call {
                    call.input.push_str(fragment);
                }
            }
        }
    }

    pub(crate) fn fail(&mut self, message: &str) {
        message.clone_into(&mut self.error);
    }

    /// The reply as JSON; `None` if it is empty or exceeds the bound.
    pub(crate) fn into_json(self) -> Option<String> {
        let is_empty = self.bytes == 0 && self.error.is_empty();
        if is_empty || self.bytes > EXCHANGE_BODY_BYTES_MAX {
            return None;
        }
        let json = serde_json::to_string(&self).ok()?;
        (json.len() <= EXCHANGE_BODY_BYTES_MAX).then_some(json)
    }
}

/// Writes an input as JSON, so that redaction sees its keys; an incomplete input as a string.
fn as_json<S: serde::Serializer>(input: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match serde_json::from_str::<&RawValue>(input) {
        Ok(json) => json.serialize(serializer),
        Err(_) => input.serialize(serializer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(deltas: &[Delta]) -> RecordedReply {
        let mut reply = RecordedReply::default();
        for delta in deltas {
            reply.add(delta);
        }
        reply
    }

    fn check(deltas: &[Delta], error: &str, expected: Option<&str>) {
        let mut reply = record(deltas);
        reply.fail(error);
        assert_eq!(reply.into_json().as_deref(), expected);
    }

    fn text(text: &str) -> Delta {
        Delta::Text(text.to_owned())
    }

    fn began(index: usize) -> Delta {
        Delta::CallBegan { index, call_id: "c".to_owned(), tool_name: format!("t{index}") }
    }

    fn input(index: usize, fragment: &str) -> Delta {
        Delta::CallInput { index, fragment: fragment.to_owned() }
    }

    #[test]
    fn pieces_are_joined() {
        check(&[], "", None);
        check(&[], "it broke", Some(r#"{"error":"it broke"}"#));
        check(
            &[Delta::Thinking("h".to_owned()), text("a\""), Delta::Thinking("m".to_owned()), text("b")],
            "",
            Some(r#"{"thinking":"hm","text":"a\"b"}"#),
        );
        check(
            &[began(0), began(1), input(0, r#"{"a":"#), input(1, "{\"b"), input(0, "1}")],
            "",
            Some(r#"{"calls":[{"name":"t0","input":{"a":1}},{"name":"t1","input":"{\"b"}]}"#),
        );
    }

    #[test]
    fn larger_replies_are_omitted() {
        let overhead = r#"{"text":""}"#.len();
        let sized = |bytes: usize| text(&"x".repeat(bytes));
        let has_json = |deltas: &[Delta]| record(deltas).into_json().is_some();
        assert!(has_json(&[sized(EXCHANGE_BODY_BYTES_MAX - overhead)]));
        assert!(!has_json(&[sized(EXCHANGE_BODY_BYTES_MAX - overhead + 1)]));
        let split = [sized(EXCHANGE_BODY_BYTES_MAX), text("x"), text("y")];
        assert!(!has_json(&split));
    }
}
