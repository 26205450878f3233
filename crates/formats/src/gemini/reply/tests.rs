use context::Transcript;
use domain::Fact;

use super::super::render;
use super::*;
use crate::RenderOptions;
use crate::tests::gemini::{describe_fact, turns_from, user};

const PARTS: &str = r#"[{"text":"hm","thought":true},{"text":"Let me see.","thoughtSignature":"s1"},{"functionCall":{"id":"a","name":"search","args":{"q": 1.0}},"thoughtSignature":"s2"},{"functionCall":{"id":"b","name":"search","args":{}}}]"#;

#[test]
fn a_reply_is_a_message_and_its_calls() {
    check(PARTS, "assistant@gemini(h:hm t:Let me see. h:^s1) a@gemini:search{\"q\": 1.0}^s2 b@gemini:search{}");
    check("[]", "assistant@gemini()");
    check(r#"[{"text":""},{"text":"a"},{"text":"b"}]"#, "assistant@gemini(t:ab)");
    check(
        r#"[{"text":"a"},{"functionCall":{"name":"f"}},{"text":"b"},{"functionCall":{"id":"","name":"f"}}]"#,
        "assistant@gemini(t:a t:b) call_82f3e9c695dc6b8d1b11_0@gemini:f{} call_82f3e9c695dc6b8d1b11_1@gemini:f{}",
    );
    check(
        r#"[{"inlineData":{"mimeType":"image/png","data":"AA"},"thoughtSignature":"s"},{"executableCode":{"code":"1"}}]"#,
        r#"assistant@gemini(i:data:image/png;base64,AA h:^s p:{"executableCode":{"code":"1"}})"#,
    );
}

#[track_caller]
fn check(parts: &str, expected: &str) {
    let reply = parse_reply(body(parts).as_bytes()).unwrap();
    let facts: Vec<String> = reply.facts.iter().map(describe_fact).collect();
    assert_eq!(facts.join(" "), expected);
}

fn body(parts: &str) -> String {
    format!(
        r#"{{"candidates":[{{"content":{{"role":"model","parts":{parts}}},"finishReason":"STOP","index":0}}],"responseId":"r1"}}"#
    )
}

#[test]
fn a_reply_is_rendered_as_received() {
    let reply = parse_reply(body(PARTS).as_bytes()).unwrap();
    let mut turns = turns_from(&reply.facts);
    turns.insert(0, user(0, "go"));
    let transcript = Transcript { turns, ..Transcript::default() };
    let rendered = render(&transcript, &RenderOptions::default());
    let written = String::from_utf8(rendered.body).unwrap();
    assert!(written.contains(&format!(r#""parts":{PARTS}"#)), "{written}");
    assert_eq!(rendered.losses, []);
}

#[test]
fn a_reply_has_usage_and_finish_reason() {
    let body = r#"{"candidates":[{"finishReason":"SAFETY"}],"modelVersion":"gemini-3-pro","responseId":"r1",
        "usageMetadata":{"promptTokenCount":10,"toolUsePromptTokenCount":2,"candidatesTokenCount":5,"thoughtsTokenCount":3,"cachedContentTokenCount":4,"totalTokenCount":20}}"#;
    let mut reply = parse_reply(body.as_bytes()).unwrap();
    let Some(Fact::MessageAppended(message)) = reply.facts.pop() else {
        panic!("there is a message");
    };
    let usage = message.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (12, 8));
    assert_eq!((usage.cached_tokens, usage.reasoning_tokens), (4, 3));
    let labels =
        [message.model, message.provider_response_id, message.finish_reason].map(|label| label.unwrap().to_string());
    assert_eq!(labels, ["gemini-3-pro", "r1", "SAFETY"]);
}

#[test]
fn errors_are_reported() {
    for (body, expected) in [
        (
            r#"{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}"#,
            "RESOURCE_EXHAUSTED: slow down",
        ),
        (r#"{"error":{"code":500}}"#, "500: "),
        (r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{}}"#, "PROHIBITED_CONTENT: "),
        (r#"{"candidates":[]}"#, "is not a gemini document: there are no candidates"),
        ("{", "is not a gemini document: an unexpected end at line 1, column 1"),
        (
            r#"{"candidates":[{"content":{"parts":[{"functionResponse":{"name":"f"}}]}}]}"#,
            "is not a gemini document: candidates[0].content.parts[0] is a result",
        ),
    ] {
        let found = match parse_reply(body.as_bytes()).unwrap_err() {
            ParseError::Failed { error_type, message } => format!("{error_type}: {message}"),
            error @ (ParseError::Malformed { .. } | ParseError::Unusable { .. } | ParseError::Incomplete) => {
                error.to_string()
            }
        };
        assert_eq!(found, expected);
    }
}
