use domain::Fact;
use domain::bounds::LABEL_BYTES_MAX;
use domain::event::Usage;

use crate::openai_chat::{ReplyStream, parse_reply};
use crate::reply::{Delta, ParseError, Reply};
use crate::tests::chat::describe_facts;

const WHOLE: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{"index":0,
    "message":{"role":"assistant","content":"Let me look.","refusal":null,"reasoning_content":"hm, well",
    "tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\": 1.0}"}},
                  {"id":"b","type":"function","function":{"name":"g","arguments":""}}]},
    "finish_reason":"tool_calls"}],
    "usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},
             "completion_tokens_details":{"reasoning_tokens":2}}}"#;

const STREAMED: [&str; 11] = [
    r#"{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
    r#"{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"delta":{"reasoning_content":"hm, "}}]}"#,
    r#"{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"delta":{"reasoning_content":"well"}}]}"#,
    r#"{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"delta":{"content":"Let me "}},{"index":1,"delta":{"content":"x"}}]}"#,
    r#"{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"delta":{"content":"look."}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"n\":"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":" 1.0}"}},{"index":1,"id":"b","function":{"name":"g"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}"#,
    " [DONE]\n",
];

fn streamed(pieces: &[&str]) -> Result<(Reply, Vec<Delta>), ParseError> {
    let (mut stream, mut deltas) = (ReplyStream::default(), Vec::new());
    for piece in pieces {
        deltas.append(&mut stream.push(piece.as_bytes())?);
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
        r#"call a f {"n": 1.0}"#,
        "call b g {}",
    ];
    assert_eq!(describe_facts(&reply.facts), expected);
    let [Fact::MessageAppended(message), Fact::ToolCalled(call), _] = reply.facts.as_slice() else {
        panic!("{reply:?}");
    };
    let labels = [&message.model, &message.provider, &message.provider_response_id]
        .map(|label| label.as_ref().unwrap().as_str());
    assert_eq!(labels, ["m", "openai", "chatcmpl-1"]);
    assert_eq!(call.provider_response_id, message.provider_response_id);
    assert_eq!(call.provider, message.provider);
    assert_eq!(message.finish_reason.as_ref().unwrap().as_str(), "tool_calls");
    let usage = Usage { input_tokens: 10, output_tokens: 5, cached_tokens: 4, reasoning_tokens: 2 };
    assert_eq!(message.usage, Some(usage));
}

#[test]
fn replies_of_compatible_servers() {
    check(r#"{"content":null,"refusal":"No."}"#, &[r#"assistant [Refusal("No.")]"#]);
    check(
        r#"{"content":"a","reasoning":"hm"}"#,
        &[r#"assistant [Thinking { text: "hm", signature: None }, Text("a")]"#],
    );
    check(
        r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"reasoning":{}}"#,
        &[r#"assistant [Text("ab")]"#],
    );
    check(
        r#"{"content":null,"audio":{"id":"audio_1","data":"AA==","transcript":"Hello."}}"#,
        &[r#"assistant [Text("Hello.")]"#],
    );
    check(
        r#"{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"n": 1.0}}},
            {"function":{"name":"f","arguments":"{\"n\":"}}]}"#,
        &[
            "assistant []",
            r#"call call_ca978112ca1bbdcafac2_0 f {"n": 1.0}"#,
            r#"call call_ca978112ca1bbdcafac2_1 f "{\"n\":""#,
        ],
    );
    check(
        r#"{"content":null,"function_call":{"name":"f","arguments":"{}"}}"#,
        &["assistant []", "call call_ca978112ca1bbdcafac2_0 f {}"],
    );
}

/// The same message, whole and as one piece.
fn check(message: &str, expected: &[&str]) {
    let body = |said: &str| format!(r#"{{"id":"a","choices":[{{"{said}":{message},"finish_reason":"stop"}}]}}"#);
    let whole = parse_reply(body("message").as_bytes()).unwrap();
    assert_eq!(describe_facts(&whole.facts), expected);
    if !message.contains("},\n") {
        assert_eq!(streamed(&[&body("delta")]).unwrap().0, whole);
    }
}

#[test]
fn errors_and_ends() {
    let failed = |error_type: &str, message: &str| ParseError::Failed {
        error_type: error_type.to_owned(),
        message: message.to_owned(),
    };
    let quota = r#"{"error":{"message":"Slow down.","type":"rate_limit_error","code":null}}"#;
    let slow = failed("rate_limit_error", "Slow down.");
    assert_eq!(parse_reply(quota.as_bytes()), Err(slow.clone()));
    assert_eq!(streamed(&[STREAMED[0], quota]), Err(slow));
    let flat = r#"{"object":"error","message":"Too long.","type":"BadRequestError","code":400}"#;
    assert_eq!(parse_reply(flat.as_bytes()), Err(failed("BadRequestError", "Too long.")));
    assert_eq!(streamed(&STREAMED[..8]), Err(ParseError::Incomplete));
    assert!(streamed(&STREAMED[..9]).is_ok());
    assert!(streamed(&[STREAMED[3], "", "[DONE]"]).is_ok());
    let empty = parse_reply(br#"{"choices":[]}"#).unwrap_err();
    assert!(matches!(empty, ParseError::Malformed { .. }), "{empty}");
}

#[test]
fn names_past_their_bound_are_rejected() {
    let body = |id: &str, call: &str| {
        format!(
            r#"{{"id":"{id}","choices":[{{"message":{{"tool_calls":[{{"id":"{call}","function":{{"name":"f"}}}}]}}}}]}}"#
        )
    };
    let check = |body: String, expected: &str| {
        let refused = parse_reply(body.as_bytes()).unwrap_err();
        assert!(matches!(&refused, ParseError::Unusable { field, .. } if field == expected), "{refused}");
    };
    let long = "x".repeat(LABEL_BYTES_MAX + 1);
    let kept = parse_reply(body(&long, "a").as_bytes()).unwrap();
    assert!(
        matches!(kept.facts.first(), Some(Fact::MessageAppended(message)) if message.provider_response_id.is_none())
    );
    check(body("a", &long), "tool_calls[0].id");
}
