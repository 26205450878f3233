//! Replies, whole and in pieces.

use domain::{Fact, Part};

use super::reading::short;
use crate::anthropic::{REPLY_BYTES_MAX, ReplyStream, parse_reply};
use crate::reply::{Delta, ParseError, Reply};

const WHOLE: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"thinking","thinking":"Let me see.","signature":"c2ln"},{"type":"redacted_thinking","data":"ZW5j"},{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://e.example"}]},{"type":"text","text":"Hé, two.","citations":[{"type":"web_search_result_location","url":"https://e.example"},{"type":"c"}]},{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1.0,"b":[2]}},{"type":"tool_use","id":"toolu_2","name":"g","input":{}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":11,"output_tokens":42}}"#;

const PIECES: [&str; 36] = [
    r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":11,"output_tokens":1}}}"#,
    r#"{"type":"ping"}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see."}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"ZW5j"}}"#,
    r#"{"type":"content_block_stop","index":1}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"query\""}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":":\"x\"}"}}"#,
    r#"{"type":"content_block_stop","index":2}"#,
    r#"{"type":"content_block_start","index":3,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://e.example"}]}}"#,
    r#"{"type":"content_block_stop","index":3}"#,
    r#"{"type":"content_block_start","index":4,"content_block":{"type":"text","text":"","citations":[]}}"#,
    r#"{"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":"H\u00e9, "}}"#,
    r#"{"type":"content_block_delta","index":4,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://e.example"}}}"#,
    r#"{"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":"two."}}"#,
    r#"{"type":"content_block_delta","index":4,"delta":{"type":"citations_delta","citation":{"type":"c"}}}"#,
    r#"{"type":"content_block_stop","index":4}"#,
    r#"{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}"#,
    r#"{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":""}}"#,
    r#"{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1."}}"#,
    r#"{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"0,\"b\":[2]}"}}"#,
    r#"{"type":"content_block_stop","index":5}"#,
    r#"{"type":"content_block_start","index":6,"content_block":{"type":"tool_use","id":"toolu_2","name":"g","input":{}}}"#,
    r#"{"type":"content_block_delta","index":6,"delta":{"type":"input_json_delta","partial_json":""}}"#,
    r#"{"type":"content_block_stop","index":6}"#,
    r#"{"type":"ping"}"#,
    r#"{"type":"something_new","index":9}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":42}}"#,
    r#"{"type":"message_stop"}"#,
    r#"{"type":"ping"}"#,
    "[DONE]",
    " [DONE]\n",
];

fn stream(pieces: &[&str]) -> Result<(Reply, Vec<Delta>), ParseError> {
    let mut stream = ReplyStream::default();
    let mut deltas = Vec::new();
    for piece in pieces {
        deltas.extend(stream.push(piece.as_bytes())?);
    }
    Ok((stream.finish()?, deltas))
}

#[test]
fn a_whole_reply_is_read() {
    let reply = parse_reply(WHOLE.as_bytes()).unwrap();
    let shown: Vec<String> = reply.facts.iter().map(short).collect();
    let Some(Fact::MessageAppended(message)) = reply.facts.first() else {
        panic!("{reply:?}");
    };
    insta::assert_snapshot!(format!(
        "{}\n{:?} {:?} {:?}\n{:?}",
        shown.join("\n"),
        message.model,
        message.provider_response_id,
        message.finish_reason,
        message.usage
    ));
}

#[test]
fn empty_texts_are_not_parts() {
    let empty = WHOLE.replace("Hé, two.", "");
    let reply = parse_reply(empty.as_bytes()).unwrap();
    let whole = parse_reply(WHOLE.as_bytes()).unwrap();
    let parts = |reply: &Reply| match reply.facts.first() {
        Some(Fact::MessageAppended(message)) => message.parts.clone(),
        other => panic!("{other:?}"),
    };
    let mut expected = parts(&whole);
    expected.retain(|part| !matches!(part, Part::Text(_)));
    assert_eq!(parts(&reply), expected);
}

#[test]
fn pieces_make_the_whole() {
    let (reply, deltas) = stream(&PIECES).unwrap();
    assert_eq!(reply, parse_reply(WHOLE.as_bytes()).unwrap());
    let shown: Vec<String> = deltas.iter().map(|delta| format!("{delta:?}")).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_reply_that_does_not_end_is_incomplete() {
    for count in [0, 1, 20, 32] {
        let cut = stream(&PIECES[..count]).map(drop);
        assert_eq!(cut, Err(ParseError::Incomplete), "{count}");
    }
}

#[test]
fn an_incomplete_input_becomes_a_string() {
    let (reply, _) = stream(&[
        r#"{"type":"message_start","message":{"id":"msg_1","model":"m"}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\": 1"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#,
        r#"{"type":"message_stop"}"#,
    ])
    .unwrap();
    let shown: Vec<String> = reply.facts.iter().map(short).collect();
    assert_eq!(shown, ["assistant@anthropic: ", r#"a: f("{\"a\": 1")"#]);
}

#[test]
fn a_refusal_keeps_the_text_and_the_finish_reason() {
    let (reply, _) = stream(&[
        r#"{"type":"message_start","message":{"id":"msg_1","model":"m"}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"First, "}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"output_tokens":3}}"#,
        r#"{"type":"message_stop"}"#,
    ])
    .unwrap();
    let [Fact::MessageAppended(message)] = reply.facts.as_slice() else {
        panic!("{reply:?}");
    };
    assert_eq!(message.parts, [Part::Text("First, ".into())]);
    let why = message.finish_reason.as_ref().map(ToString::to_string);
    assert_eq!(why.as_deref(), Some("refusal"));
}

#[test]
fn errors_are_reported() {
    let failure = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}"#;
    let failed = ParseError::Failed { error_type: "overloaded_error".into(), message: "Overloaded".into() };
    assert_eq!(parse_reply(failure.as_bytes()), Err(failed.clone()));
    assert_eq!(stream(&[PIECES[0], failure]).map(drop), Err(failed));
}

#[test]
fn events_out_of_order_are_rejected() {
    let malformed = |pieces: &[&str]| {
        let refused = stream(pieces).map(drop);
        assert!(matches!(refused, Err(ParseError::Malformed { .. })), "{pieces:?}: {refused:?}");
    };
    malformed(&["{"]);
    malformed(&[PIECES[0], PIECES[3]]);
    malformed(&[PIECES[0], PIECES[7]]);
    malformed(&[PIECES[31]]);
    malformed(&[r#"{"type":"message_start"}"#]);
    assert!(matches!(parse_reply(br#"{"id":"msg_1"}"#), Err(ParseError::Malformed { .. })));
}

#[test]
fn a_reply_at_its_bound_and_past_it() {
    let padded = |bytes: usize| format!("{{\"type\":\"ping\"}}{}", " ".repeat(bytes - 15));
    let mut stream = ReplyStream::default();
    assert_eq!(stream.push(padded(REPLY_BYTES_MAX).as_bytes()), Ok(vec![]));
    let refused = stream.push(b"1");
    assert!(matches!(refused, Err(ParseError::Unusable { .. })));
    let whole = format!("{WHOLE}{}", " ".repeat(REPLY_BYTES_MAX - WHOLE.len()));
    assert!(parse_reply(whole.as_bytes()).is_ok());
    let refused = parse_reply(format!("{whole} ").as_bytes());
    assert!(matches!(refused, Err(ParseError::Unusable { .. })));
}
