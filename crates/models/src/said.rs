//! What the pieces of a reply came to, as one JSON text: a secret that came in pieces is whole in it again.

use formats::Delta;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::meter::size_bytes;

/// Most bytes of a body that is told; a larger one is not told at all, so that whoever redacts it sees all of it.
pub const EXCHANGE_BODY_BYTES_MAX: usize = 2 * 1_024 * 1_024;

/// What was said so far; nothing any more once it is more than may be told.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Said {
    #[serde(skip_serializing_if = "String::is_empty")]
    thinking: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    refusal: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<SaidCall>,
    #[serde(skip_serializing_if = "String::is_empty")]
    error: String,
    #[serde(skip)]
    bytes: usize,
}

/// A call of a tool.
#[derive(Debug, Default, Serialize)]
struct SaidCall {
    name: String,
    #[serde(serialize_with = "as_json")]
    input: String,
    #[serde(skip)]
    index: usize,
}

impl Said {
    /// Adds a piece.
    pub(crate) fn add(&mut self, delta: &Delta) {
        self.bytes += size_bytes(delta);
        if self.bytes > EXCHANGE_BODY_BYTES_MAX {
            let bytes = self.bytes;
            *self = Self {
                bytes,
                ..Self::default()
            };
            return;
        }
        match delta {
            Delta::Text(text) => self.text.push_str(text),
            Delta::Thinking(text) => self.thinking.push_str(text),
            Delta::Refusal(text) => self.refusal.push_str(text),
            Delta::CallBegan {
                index, tool_name, ..
            } => self.calls.push(SaidCall {
                name: tool_name.clone(),
                input: String::new(),
                index: *index,
            }),
            Delta::CallInput { index, fragment } => {
                let call = self.calls.iter_mut().find(|call| call.index == *index);
                if let Some(call) = call {
                    call.input.push_str(fragment);
                }
            }
        }
    }

    /// What the server says of its failure, after what it said before.
    pub(crate) fn fail(&mut self, message: &str) {
        message.clone_into(&mut self.error);
    }

    /// As JSON; `None`: nothing was said, or more than may be told.
    pub(crate) fn into_json(self) -> Option<String> {
        let is_told = self.bytes <= EXCHANGE_BODY_BYTES_MAX;
        let is_empty = self.bytes == 0 && self.error.is_empty();
        if !is_told || is_empty {
            return None;
        }
        let json = serde_json::to_string(&self).ok()?;
        (json.len() <= EXCHANGE_BODY_BYTES_MAX).then_some(json)
    }
}

/// An input that is JSON stands as such, so that its keys are seen; one that broke off as a text.
fn as_json<S: serde::Serializer>(input: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match serde_json::from_str::<&RawValue>(input) {
        Ok(json) => json.serialize(serializer),
        Err(_) => input.serialize(serializer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(deltas: &[Delta], error: &str, expected: Option<&str>) {
        let mut said = Said::default();
        for delta in deltas {
            said.add(delta);
        }
        said.fail(error);
        assert_eq!(said.into_json().as_deref(), expected);
    }

    fn text(text: &str) -> Delta {
        Delta::Text(text.to_owned())
    }

    fn began(index: usize) -> Delta {
        Delta::CallBegan {
            index,
            call_id: "c".to_owned(),
            tool_name: format!("t{index}"),
        }
    }

    fn input(index: usize, fragment: &str) -> Delta {
        Delta::CallInput {
            index,
            fragment: fragment.to_owned(),
        }
    }

    #[test]
    fn pieces_come_together() {
        check(&[], "", None);
        check(&[], "it broke", Some(r#"{"error":"it broke"}"#));
        check(
            &[
                Delta::Thinking("h".to_owned()),
                text("a\""),
                Delta::Thinking("m".to_owned()),
                text("b"),
            ],
            "",
            Some(r#"{"thinking":"hm","text":"a\"b"}"#),
        );
        check(
            &[
                began(0),
                began(1),
                input(0, r#"{"a":"#),
                input(1, "{\"b"),
                input(0, "1}"),
            ],
            "",
            Some(r#"{"calls":[{"name":"t0","input":{"a":1}},{"name":"t1","input":"{\"b"}]}"#),
        );
    }

    #[test]
    fn more_than_may_be_told_is_not_told() {
        let around = r#"{"text":""}"#.len();
        let sized = |bytes: usize| text(&"x".repeat(bytes));
        let check = |deltas: &[Delta], is_told: bool| {
            let mut said = Said::default();
            for delta in deltas {
                said.add(delta);
            }
            assert_eq!(said.into_json().is_some(), is_told);
        };
        check(&[sized(EXCHANGE_BODY_BYTES_MAX - around)], true);
        check(&[sized(EXCHANGE_BODY_BYTES_MAX - around + 1)], false);
        check(
            &[sized(EXCHANGE_BODY_BYTES_MAX), text("x"), text("y")],
            false,
        );
    }
}
