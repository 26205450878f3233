//! Parses streamed replies.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::reply::{Delta, ParseError, Reply};

use super::decode::{borrowed, malformed};
use super::read::{ParsedItem, read};
use super::reply::{Failure, Response, check_size, failed, reply};

/// The end of the streams of some servers.
const DONE: &[u8] = b"[DONE]";

/// The parser of a streamed reply. The deltas of reasoning are empty: they show that the model answers, and the reply contains the
/// text only in items of the provider, not in thoughts. The parser keeps the complete items and the final response, at most
/// [`super::REPLY_BYTES_MAX`] in total.
#[derive(Debug, Default)]
pub struct ReplyStream {
    /// The complete items, by index.
    items: BTreeMap<u64, Box<RawValue>>,
    /// The numbers of the calls, by the index of their item.
    calls: BTreeMap<u64, usize>,
    /// The final response.
    response: Option<Box<RawValue>>,
    /// Bytes of items and response.
    bytes: usize,
}

/// An event. Fields whose type depends on the kind are raw.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: String,
    output_index: Option<u64>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ErrorEvent {
    error: Option<Failure>,
}

impl ReplyStream {
    /// Parses the text of one `data:` field.
    ///
    /// # Errors
    /// [`ParseError::Failed`] for an error of the provider; [`ParseError::Malformed`] and [`ParseError::Unusable`], as for a
    /// whole reply. Do not use the stream after an error.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<Delta>, ParseError> {
        let piece = piece.trim_ascii();
        if piece.is_empty() || piece == DONE {
            return Ok(Vec::new());
        }
        let event: Event<'_> = serde_json::from_slice(piece).map_err(|error| malformed(&error, ""))?;
        let index = event.output_index.unwrap_or_default();
        let delta = match event.kind.as_str() {
            "response.output_text.delta" => text(event.delta)?.map(Delta::Text),
            "response.refusal.delta" => text(event.delta)?.map(Delta::Refusal),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                text(event.delta)?.map(|_| Delta::Thinking(String::new()))
            }
            "response.function_call_arguments.delta" => self.call_input(index, event.delta)?,
            "response.output_item.added" => self.item_added(index, event.item)?,
            "response.output_item.done" => self.item_done(index, event.item)?,
            "response.completed" | "response.incomplete" => self.response_ended(event.response)?,
            "response.failed" => return Err(response_failure(event.response)?),
            "error" => return Err(failure(piece)?),
            _ => None,
        };
        Ok(delta.into_iter().collect())
    }

    /// The reply, equal to that of [`super::parse_reply`].
    ///
    /// # Errors
    /// [`ParseError::Incomplete`] if the response did not end, and the errors of [`super::parse_reply`].
    pub fn finish(self) -> Result<Reply, ParseError> {
        let ended = self.response.ok_or(ParseError::Incomplete)?;
        let mut response: Response<'_> = borrowed(&ended, "response")?;
        if response.output.is_empty() {
            response.output = self.items.values().map(AsRef::as_ref).collect();
        }
        reply(response)
    }

    fn item_added(&mut self, index: u64, item: Option<&RawValue>) -> Result<Option<Delta>, ParseError> {
        let Some(ParsedItem::Call(call)) = item.map(|item| read(item, "item")).transpose()? else {
            return Ok(None);
        };
        let next = self.calls.len();
        let index = *self.calls.entry(index).or_insert(next);
        Ok(Some(Delta::CallBegan {
            index,
            call_id: call.call_id.as_str().to_owned(),
            tool_name: call.tool_name.as_str().to_owned(),
        }))
    }

    fn call_input(&self, index: u64, delta: Option<&RawValue>) -> Result<Option<Delta>, ParseError> {
        let Some(&index) = self.calls.get(&index) else {
            return Ok(None);
        };
        let fragment = text(delta)?;
        Ok(fragment.map(|fragment| Delta::CallInput { index, fragment }))
    }

    fn item_done(&mut self, index: u64, item: Option<&RawValue>) -> Result<Option<Delta>, ParseError> {
        if let Some(item) = item {
            self.hold(item)?;
            self.items.insert(index, item.to_owned());
        }
        Ok(None)
    }

    fn response_ended(&mut self, response: Option<&RawValue>) -> Result<Option<Delta>, ParseError> {
        if let Some(response) = response {
            self.hold(response)?;
            self.response = Some(response.to_owned());
        }
        Ok(None)
    }

    fn hold(&mut self, text: &RawValue) -> Result<(), ParseError> {
        self.bytes = self.bytes.saturating_add(text.get().len());
        check_size(self.bytes)
    }
}

/// The added text; `None` if it is empty.
fn text(delta: Option<&RawValue>) -> Result<Option<String>, ParseError> {
    let text: Option<String> = delta.map(|delta| borrowed(delta, "delta")).transpose()?;
    Ok(text.filter(|text| !text.is_empty()))
}

/// The error in a failed response.
fn response_failure(response: Option<&RawValue>) -> Result<ParseError, ParseError> {
    let response: Option<ErrorEvent> = response.map(|response| borrowed(response, "response")).transpose()?;
    Ok(failed(response.and_then(|response| response.error)))
}

/// The error in an error event: in an `error` object, or in the fields of the event.
fn failure(piece: &[u8]) -> Result<ParseError, ParseError> {
    let within: ErrorEvent = serde_json::from_slice(piece).map_err(|error| malformed(&error, ""))?;
    if within.error.is_some() {
        return Ok(failed(within.error));
    }
    let beside: Failure = serde_json::from_slice(piece).map_err(|error| malformed(&error, ""))?;
    Ok(failed(Some(beside)))
}

#[cfg(test)]
mod tests {
    use crate::openai_responses::parse_reply;

    use super::*;

    const REASONING: &str =
        r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm"}],"encrypted_content":"e"}"#;
    const MESSAGE: &str = r#"{"type":"message","id":"msg_1","status":"completed","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"Hi","annotations":[],"logprobs":[]}]}"#;
    const CALL: &str =
        r#"{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}","status":"completed"}"#;

    #[test]
    fn a_streamed_reply_is_the_whole_reply() {
        let items = [REASONING, MESSAGE, CALL];
        let whole = response("completed", &items.join(","));
        let mut pieces = vec![r#"{"type":"response.created","response":{"status":"in_progress"}}"#.to_owned()];
        for (index, item) in items.iter().enumerate() {
            for kind in ["added", "done"] {
                pieces
                    .push(format!(r#"{{"type":"response.output_item.{kind}","output_index":{index},"item":{item}}}"#));
            }
        }
        for output in ["", items.join(",").as_str()] {
            let ended = response("completed", output);
            let last = format!(r#"{{"type":"response.completed","response":{ended}}}"#);
            let mut stream = ReplyStream::default();
            for piece in pieces.iter().chain([&last]) {
                stream.push(piece.as_bytes()).unwrap();
            }
            assert_eq!(stream.push(b"[DONE]\n"), Ok(vec![]));
            assert_eq!(stream.finish(), parse_reply(whole.as_bytes()));
        }
    }

    #[test]
    fn pieces_have_deltas() {
        let mut stream = ReplyStream::default();
        let mut check = |piece: &str, expected: Option<Delta>| {
            let deltas = stream.push(piece.as_bytes()).unwrap();
            assert_eq!(deltas, Vec::from_iter(expected), "{piece}");
        };
        let delta = |kind: &str| format!(r#"{{"type":"response.{kind}.delta","output_index":1,"delta":"x"}}"#);
        check(&delta("output_text"), Some(Delta::Text("x".to_owned())));
        check(&delta("refusal"), Some(Delta::Refusal("x".to_owned())));
        let thinks = Delta::Thinking(String::new());
        check(&delta("reasoning_summary_text"), Some(thinks.clone()));
        check(&delta("reasoning_text"), Some(thinks));
        check(&delta("function_call_arguments"), None);
        let added = format!(r#"{{"type":"response.output_item.added","output_index":1,"item":{CALL}}}"#);
        let (call_id, tool_name) = ("a".to_owned(), "f".to_owned());
        check(&added, Some(Delta::CallBegan { index: 0, call_id, tool_name }));
        let fragment = "x".to_owned();
        check(&delta("function_call_arguments"), Some(Delta::CallInput { index: 0, fragment }));
        check(r#"{"type":"response.audio.delta","delta":{"new":1}}"#, None);
        check(r#"{"type":"response.output_text.delta","delta":""}"#, None);
        check("", None);
    }

    #[test]
    fn errors_end_a_stream() {
        check_failed(r#"{"type":"error","code":"rate_limit","message":"m"}"#, "rate_limit");
        check_failed(r#"{"type":"error","error":{"type":"server_error","message":"m"}}"#, "server_error");
        check_failed(
            r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"m"}}}"#,
            "server_error",
        );
        check_failed(r#"{"type":"response.failed","response":null}"#, "unknown");
        let mut stream = ReplyStream::default();
        let done = format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{MESSAGE}}}"#);
        stream.push(done.as_bytes()).unwrap();
        assert_eq!(stream.finish(), Err(ParseError::Incomplete));
    }

    #[test]
    fn buffered_bytes_have_a_bound() {
        let mut stream = ReplyStream::default();
        let mut push = |bytes: usize| {
            let item = "x".repeat(bytes.saturating_sub(2));
            let piece = format!(r#"{{"type":"response.output_item.done","item":"{item}"}}"#);
            stream.push(piece.as_bytes())
        };
        assert_eq!(push(super::super::REPLY_BYTES_MAX), Ok(vec![]));
        let refused = push(2);
        assert!(matches!(refused, Err(ParseError::Unusable { .. })), "{refused:?}");
    }

    fn check_failed(piece: &str, expected: &str) {
        let failed = ReplyStream::default().push(piece.as_bytes());
        let Err(ParseError::Failed { error_type, .. }) = failed else {
            panic!("{failed:?}");
        };
        assert_eq!(error_type, expected);
    }

    fn response(status: &str, output: &str) -> String {
        format!(
            r#"{{"id":"resp_1","model":"m","status":"{status}","output":[{output}],"usage":{{"input_tokens":9,"output_tokens":5,"input_tokens_details":{{"cached_tokens":4}},"output_tokens_details":{{"reasoning_tokens":3}}}}}}"#
        )
    }
}
