use domain::Fact;
use domain::event::Usage;

use crate::ollama::{ReplyStream, parse_reply};
use crate::reply::{Delta, ParseError, Reply};
use crate::tests::chat::describe_facts;

const WHOLE: &str = r#"{"model":"m","created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant",
    "content":"Let me look.","thinking":"hm, well","tool_calls":[
        {"function":{"name":"f","arguments":{"n": 1.0}}},{"id":"call_b","function":{"name":"g","arguments":{}}}]},
    "done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":5}"#;

const STREAMED: [&str; 6] = [
    r#"{"model":"m","created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant","content":"","thinking":"hm, "},"done":false}"#,
    r#"{"model":"m","created_at":"2025-01-01T00:00:01Z","message":{"role":"assistant","content":"","thinking":"well"},"done":false}"#,
    r#"{"model":"m","created_at":"2025-01-01T00:00:02Z","message":{"role":"assistant","content":"Let me look."},"done":false}"#,
    r#"{"model":"m","created_at":"2025-01-01T00:00:03Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"n": 1.0}}}]},"done":false}"#,
    r#"{"model":"m","created_at":"2025-01-01T00:00:04Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_b","function":{"name":"g","arguments":{}}}]},"done":false}"#,
    r#"{"model":"m","created_at":"2025-01-01T00:00:05Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":5}"#,
];

fn streamed(lines: &[&str]) -> Result<(Reply, Vec<Delta>), ParseError> {
    let (mut stream, mut deltas) = (ReplyStream::default(), Vec::new());
    for line in lines {
        deltas.append(&mut stream.push(line.as_bytes())?);
    }
    Ok((stream.finish()?, deltas))
}

#[test]
fn streamed_and_whole_replies_give_equal_facts() {
    let whole = parse_reply(WHOLE.as_bytes()).unwrap();
    let (reply, deltas) = streamed(&STREAMED).unwrap();
    assert_eq!(reply, whole);
    insta::assert_debug_snapshot!(deltas);
}

#[test]
fn a_reply_is_a_message_and_its_calls() {
    let reply = parse_reply(WHOLE.as_bytes()).unwrap();
    let expected = [
        r#"assistant [Thinking { text: "hm, well", signature: None }, Text("Let me look.")]"#,
        r#"call call_b81c3f63c7092bf6ebe3_0 f {"n": 1.0}"#,
        "call call_b g {}",
    ];
    assert_eq!(describe_facts(&reply.facts), expected);
    let [Fact::MessageAppended(message), Fact::ToolCalled(call), _] = reply.facts.as_slice() else {
        panic!("{reply:?}");
    };
    let labels =
        [&message.model, &message.provider, &message.finish_reason].map(|label| label.as_ref().unwrap().as_str());
    assert_eq!(labels, ["m", "ollama", "stop"]);
    assert_eq!((&call.model, &call.provider), (&message.model, &message.provider));
    let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
    assert_eq!(message.usage, Some(usage));
}

#[test]
fn other_fields_of_servers() {
    check(
        r#"{"content":"","images":["/9j/AAAA"]}"#,
        &[concat!(
            r#"assistant [Image { source: Url("data:image/jpeg;base64,/9j/AAAA"), "#,
            r#"media_type: Some(Label("image/jpeg")), detail: None }]"#,
        )],
    );
    check(
        r#"{"content":"","tool_calls":[{"function":{"arguments":"{\"n\": 1.0}"}}]}"#,
        &["assistant []", r#"call call_e3b0c44298fc1c149afb_0 unnamed_tool {"n": 1.0}"#],
    );
}

fn check(message: &str, expected: &[&str]) {
    let body = format!(r#"{{"message":{message},"done":true}}"#);
    let whole = parse_reply(body.as_bytes()).unwrap();
    assert_eq!(describe_facts(&whole.facts), expected);
    assert_eq!(streamed(&[&body]).unwrap().0, whole);
}

#[test]
fn errors_and_ends() {
    let error = r#"{"error":"model \"x\" not found"}"#;
    let failed = ParseError::Failed { error_type: "error".to_owned(), message: "model \"x\" not found".to_owned() };
    assert_eq!(parse_reply(error.as_bytes()), Err(failed.clone()));
    assert_eq!(streamed(&[STREAMED[0], error]), Err(failed));
    assert_eq!(streamed(&STREAMED[..5]), Err(ParseError::Incomplete));
    assert_eq!(streamed(&["", "[DONE]"]), Err(ParseError::Incomplete));
    assert_eq!(parse_reply(STREAMED[0].as_bytes()), Err(ParseError::Incomplete));
}
