//! Parses whole replies.

use domain::event::{MessageAppended, Role, ToolCalled, Usage, UsageSource};
use domain::{Fact, Label};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::reply::{ParseError, Reply};
use crate::values::{self, Count};

use super::decode::{malformed, provider};
use super::pieces::{Piece, split_turn};
use super::read::{ParsedCall, ParsedItem, read};

/// Maximum bytes of a reply, whole or in all its events.
pub const REPLY_BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// The type of an error without one.
const UNNAMED_FAILURE: &str = "unknown";

/// A response object, or an error.
#[derive(Deserialize)]
pub(super) struct Response<'a> {
    id: Option<String>,
    model: Option<String>,
    status: Option<String>,
    #[serde(borrow, default)]
    pub(super) output: Vec<&'a RawValue>,
    #[serde(default, deserialize_with = "values::optional")]
    usage: Option<TokenCounts>,
    incomplete_details: Option<IncompleteDetails>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct TokenCounts {
    input_tokens: Option<Count>,
    output_tokens: Option<Count>,
    #[serde(default, deserialize_with = "values::optional")]
    input_tokens_details: Option<InputDetails>,
    #[serde(default, deserialize_with = "values::optional")]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<Count>,
}

#[derive(Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<Count>,
}

impl From<TokenCounts> for Usage {
    fn from(counts: TokenCounts) -> Self {
        let read = counts.input_tokens_details;
        let written = counts.output_tokens_details;
        Self {
            input_tokens: Count::or_zero(counts.input_tokens),
            output_tokens: Count::or_zero(counts.output_tokens),
            cached_tokens: Count::or_zero(read.and_then(|it| it.cached_tokens)),
            reasoning_tokens: Count::or_zero(written.and_then(|it| it.reasoning_tokens)),
        }
    }
}

/// An error of the provider.
#[derive(Deserialize)]
pub(super) struct Failure {
    code: Option<Code>,
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<String>,
}

/// The code of an error. Compatible servers send an HTTP status.
#[derive(Deserialize)]
#[serde(untagged)]
enum Code {
    Name(String),
    Status(u16),
}

/// The origin of a reply, for each of its facts.
struct Source {
    provider: Label,
    model: Option<Label>,
    response: Option<Label>,
}

/// Parses a response object: its message, with reasoning and other items verbatim, then its calls.
///
/// `finish_reason` is the reason why the response is incomplete, or its `status`.
///
/// # Errors
/// [`ParseError::Failed`] for an error, alone or in a response; [`ParseError::Incomplete`] for a response in progress;
/// [`ParseError::Unusable`] past [`REPLY_BYTES_MAX`], or for values that an event cannot contain; [`ParseError::Malformed`].
pub fn parse_reply(body: &[u8]) -> Result<Reply, ParseError> {
    check_size(body.len())?;
    let response: Response<'_> = serde_json::from_slice(body).map_err(|error| malformed(&error, ""))?;
    reply(response)
}

/// Checks the bound of a reply.
pub(super) fn check_size(bytes: usize) -> Result<(), ParseError> {
    if bytes <= REPLY_BYTES_MAX {
        return Ok(());
    }
    Err(ParseError::Unusable { field: "response".into(), reason: format!("is longer than {REPLY_BYTES_MAX} bytes") })
}

/// The facts of a response.
pub(super) fn reply(response: Response<'_>) -> Result<Reply, ParseError> {
    let status = response.status.as_deref();
    if response.error.is_some() || status == Some("failed") {
        return Err(failed(response.error));
    }
    if matches!(status, Some("in_progress" | "queued")) {
        return Err(ParseError::Incomplete);
    }
    let mut pieces = Vec::with_capacity(response.output.len());
    for (index, item) in response.output.iter().enumerate() {
        pieces.extend(piece(item, &format!("output[{index}]"))?);
    }
    let (parts, calls) = split_turn(pieces)?;
    let reason = response.incomplete_details.and_then(|it| it.reason);
    let source = Source {
        provider: provider()?,
        model: values::reported(response.model.as_deref()),
        response: values::reported(response.id.as_deref()),
    };
    let message = MessageAppended {
        model: source.model.clone(),
        provider: Some(source.provider.clone()),
        provider_response_id: source.response.clone(),
        finish_reason: values::finish_reason(reason.or(response.status).as_deref()),
        usage: response.usage.map(Usage::from),
        usage_source: UsageSource::Reported,
        ..MessageAppended::new(Role::Assistant, parts)
    };
    let calls = calls.into_iter().map(|call| called(call, &source));
    let facts = std::iter::once(Fact::MessageAppended(message)).chain(calls);
    Ok(Reply { facts: facts.collect() })
}

fn piece(item: &RawValue, path: &str) -> Result<Option<Piece>, ParseError> {
    Ok(match read(item, path)? {
        ParsedItem::Message { phase, parts, .. } => Some(Piece::Message { phase, parts }),
        ParsedItem::Call(call) => Some(Piece::Call(call)),
        ParsedItem::Other(item) => Some(Piece::Item(item)),
        ParsedItem::Output { .. } => None,
    })
}

/// The parse error of a failure.
pub(super) fn failed(failure: Option<Failure>) -> ParseError {
    let (code, kind, message) = failure.map_or((None, None, None), |it| (it.code, it.kind, it.message));
    let code = code.map(|code| match code {
        Code::Name(name) => name,
        Code::Status(status) => status.to_string(),
    });
    ParseError::Failed {
        error_type: code.or(kind).unwrap_or_else(|| UNNAMED_FAILURE.to_owned()),
        message: message.unwrap_or_default(),
    }
}

fn called(call: ParsedCall, source: &Source) -> Fact {
    Fact::ToolCalled(ToolCalled {
        model: source.model.clone(),
        provider: Some(source.provider.clone()),
        provider_response_id: source.response.clone(),
        ..ToolCalled::new(call.call_id, call.tool_name, call.input)
    })
}

#[cfg(test)]
mod tests {
    use domain::{JsonText, Part};

    use crate::tests::openai_responses::{item, label, text};

    use super::*;

    #[test]
    fn a_reply_is_its_message_and_its_calls() {
        let body = r#"{"id":"resp_1","object":"response","model":"m-1","status":"completed","error":null,"incomplete_details":null,"output":[
{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"},
{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[]},{"type":"refusal","refusal":"No."}]},
{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{\"n\": 1.0}","status":"completed"}],
"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":14}}"#;
        let reasoning = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}"#;
        let message = MessageAppended {
            parts: vec![item(reasoning), text("Hi"), Part::Refusal("No.".to_owned())],
            model: Some(label("m-1")),
            provider_response_id: Some(label("resp_1")),
            usage: Some(Usage { input_tokens: 9, output_tokens: 5, cached_tokens: 4, reasoning_tokens: 3 }),
            ..bare("completed")
        };
        let call = ToolCalled {
            call_id: domain::CallId::parse("a").unwrap(),
            tool_name: domain::ToolName::parse("f").unwrap(),
            input: JsonText::parse("{\"n\": 1.0}").unwrap(),
            model: Some(label("m-1")),
            provider: Some(label("openai")),
            provider_response_id: Some(label("resp_1")),
            signature: None,
        };
        let facts = vec![Fact::MessageAppended(message), Fact::ToolCalled(call)];
        check(body, &Ok(facts));
    }

    #[test]
    fn the_finish_reason_is_parsed() {
        let cut = r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}"#;
        check(cut, &Ok(vec![Fact::MessageAppended(bare("max_output_tokens"))]));
        let ended = r#"{"status":"cancelled","output":[]}"#;
        check(ended, &Ok(vec![Fact::MessageAppended(bare("cancelled"))]));
        check(r#"{"status":"queued"}"#, &Err(ParseError::Incomplete));
    }

    #[test]
    fn errors_are_not_replies() {
        check_failed(r#"{"error":{"type":"t","code":"c","message":"m"}}"#, "c", "m");
        check_failed(r#"{"error":{"type":"t","code":null}}"#, "t", "");
        check_failed(r#"{"error":{"code":429,"message":"m"}}"#, "429", "m");
        check_failed(r#"{"status":"failed","output":[]}"#, "unknown", "");
    }

    #[test]
    fn phases_and_positions_of_calls_are_marked_if_necessary() {
        let body = r#"{"status":"completed","output":[
{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"a"}]},
{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"b"}]},
{"type":"message","role":"assistant","phase":null,"content":[{"type":"output_text","text":"c"}]},
{"type":"new_thing","x":1.0}]}"#;
        let parts = vec![
            item(r#"{"type":"message","phase":"commentary"}"#),
            text("a"),
            text("b"),
            item(r#"{"type":"message"}"#),
            text("c"),
            item(r#"{"type":"new_thing","x":1.0}"#),
        ];
        let message = MessageAppended { parts, ..bare("completed") };
        check(body, &Ok(vec![Fact::MessageAppended(message)]));
    }

    #[test]
    fn a_reply_at_its_bound() {
        let mut body = br#"{"status":"completed"}"#.to_vec();
        body.resize(REPLY_BYTES_MAX, b' ');
        let expected = Reply { facts: vec![Fact::MessageAppended(bare("completed"))] };
        assert_eq!(parse_reply(&body), Ok(expected));
        body.push(b' ');
        let refused = parse_reply(&body);
        assert!(matches!(refused, Err(ParseError::Unusable { .. })));
    }

    fn check_failed(body: &str, error_type: &str, message: &str) {
        let expected = ParseError::Failed { error_type: error_type.to_owned(), message: message.to_owned() };
        check(body, &Err(expected));
    }

    fn check(body: &str, expected: &Result<Vec<Fact>, ParseError>) {
        let read = parse_reply(body.as_bytes()).map(|reply| reply.facts);
        assert_eq!(read, *expected, "{body}");
    }

    fn bare(finish_reason: &str) -> MessageAppended {
        MessageAppended {
            role: Role::Assistant,
            parts: vec![],
            author: None,
            model: None,
            provider: Some(label("openai")),
            provider_response_id: None,
            finish_reason: Some(label(finish_reason)),
            usage: None,
            usage_source: UsageSource::Reported,
        }
    }
}
