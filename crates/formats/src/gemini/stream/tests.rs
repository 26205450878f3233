use super::super::parse_reply;
use super::*;
use crate::tests::gemini::describe_fact;

#[test]
fn streamed_replies_equal_whole_replies() {
    check(
        r#"[{"text":"Hello."}]"#,
        &[r#"[{"text":"Hel"}]"#, r#"[{"text":"lo"},{"text":"."}]"#],
        r#"Text("Hel") Text("lo") Text(".")"#,
    );
    check(
        r#"[{"text":"hm so","thought":true},{"text":"Hi","thoughtSignature":"s"}]"#,
        &[
            r#"[{"text":"hm","thought":true}]"#,
            r#"[{"text":" so","thought":true}]"#,
            r#"[{"text":"Hi"}]"#,
            r#"[{"text":"","thoughtSignature":"s"}]"#,
        ],
        r#"Thinking("hm") Thinking(" so") Text("Hi")"#,
    );
    check(
        r#"[{"text":"a"},{"functionCall":{"name":"f","args":{"q":1}},"thoughtSignature":"s"},{"functionCall":{"id":"b","name":"g"}}]"#,
        &[
            r#"[{"text":"a"}]"#,
            r#"[{"functionCall":{"name":"f","args":{"q":1}},"thoughtSignature":"s"}]"#,
            r#"[{"functionCall":{"id":"b","name":"g"}}]"#,
        ],
        r#"Text("a") CallBegan { index: 0, call_id: "call_82f3e9c695dc6b8d1b11_0", tool_name: "f" } CallInput { index: 0, fragment: "{\"q\":1}" } CallBegan { index: 1, call_id: "b", tool_name: "g" } CallInput { index: 1, fragment: "{}" }"#,
    );
}

#[track_caller]
fn check(whole: &str, pieces: &[&str], expected: &str) {
    let mut stream = ReplyStream::default();
    let mut deltas = Vec::new();
    for parts in pieces {
        deltas.extend(stream.push(piece(parts, "").as_bytes()).unwrap());
    }
    let last = piece("[]", r#","finishReason":"STOP""#);
    deltas.extend(stream.push(last.as_bytes()).unwrap());
    deltas.extend(stream.push(b"[DONE]\n").unwrap());
    let deltas: Vec<String> = deltas.iter().map(|delta| format!("{delta:?}")).collect();
    assert_eq!(deltas.join(" "), expected);
    let streamed = stream.finish().unwrap();
    let whole = parse_reply(piece(whole, r#","finishReason":"STOP""#).as_bytes()).unwrap();
    assert_eq!(streamed, whole);
    assert!(describe_fact(&streamed.facts[0]).starts_with("assistant@gemini("));
}

fn piece(parts: &str, rest: &str) -> String {
    format!(
        r#"{{"candidates":[{{"content":{{"parts":{parts},"role":"model"}}{rest}}}],"usageMetadata":{{"promptTokenCount":7}},"modelVersion":"m","responseId":"r1"}}"#
    )
}

#[test]
fn a_stream_that_ends_early_is_incomplete() {
    assert_eq!(ReplyStream::default().finish(), Err(ParseError::Incomplete));
    let mut stream = ReplyStream::default();
    stream.push(piece(r#"[{"text":"a"}]"#, "").as_bytes()).unwrap();
    assert_eq!(stream.finish(), Err(ParseError::Incomplete));
}

#[test]
fn a_failed_stream_is_an_error() {
    let mut stream = ReplyStream::default();
    stream.push(piece(r#"[{"text":"a"}]"#, "").as_bytes()).unwrap();
    let failed = stream.push(br#"{"error":{"code":503,"status":"UNAVAILABLE"}}"#);
    assert!(matches!(failed, Err(ParseError::Failed { .. })), "{failed:?}");
}

#[test]
fn a_stream_has_a_bound() {
    let (empty, bound) = (piece("[]", "").len(), REPLY_BYTES_MAX);
    let padded = |bytes: usize| format!("{}{}", piece("[]", ""), " ".repeat(bytes - empty));
    let mut stream = ReplyStream::default();
    stream.push(padded(bound).as_bytes()).unwrap();
    let refused = stream.push(b" ").unwrap_err().to_string();
    assert_eq!(refused, format!("reply: has more than {bound} bytes"));
}
