use context::Transcript;

use super::super::render;
use super::*;
use crate::RenderOptions;
use crate::tests::gemini::{call, foreign, item, own, text, thought, turn, turns_from, user};

#[test]
fn what_was_written_is_read_back() {
    let ran = r#"{"codeExecutionResult":{"outcome":"OUTCOME_OK"}}"#;
    for turns in [
        vec![user(1, "hi")],
        vec![
            turn(1, Role::System, vec![text("Be brief.")]),
            user(2, "go"),
            own(
                3,
                vec![thought("hm", Some("s0")), text("a"), thought("", Some("s1")), item("gemini", ran)],
                vec![call(4, "a", r#"{"q": 1.00}"#, Some("s2")), call(5, "b", "{}", None)],
            ),
            user(8, "and?"),
        ],
        vec![
            user(1, "go"),
            foreign(2, vec![text("ok")], vec![call(3, "a", "{}", None), call(4, "b", "{}", None)]),
            foreign(5, vec![text("done")], vec![]),
            user(6, "thanks"),
        ],
    ] {
        let body = written(turns);
        let facts = parse_history(&body).unwrap();
        let again = written(turns_from(&facts));
        assert_eq!(String::from_utf8(again), String::from_utf8(body));
    }
}

fn written(turns: Vec<context::Turn>) -> Vec<u8> {
    let transcript = Transcript { turns, ..Transcript::default() };
    render(&transcript, &RenderOptions::default()).body
}

#[test]
fn any_request_of_the_provider_is_parsed() {
    check(r#"{"contents":[{"parts":[{"text":"hi"}]}]}"#, "user(t:hi)");
    check(r#"{"system_instruction":{"parts":[{"text":"a"},{"text":"b"}]},"contents":[]}"#, "system(t:a) system(t:b)");
    check(
        r#"{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a": 1}}},{"function_call":{"name":"f"}}]},
            {"role":"function","parts":[{"functionResponse":{"name":"f","response":{"x":1}}},{"functionResponse":{"name":"f","response":{"error":"no"}}},{"text":"so?"}]}]}"#,
        r#"assistant@gemini() call_0_0@gemini:f{"a": 1} call_0_1@gemini:f{} call_0_0=Succeeded{"x":1} call_0_1=Failed(t:no) user(t:so?)"#,
    );
    check(
        r#"{"contents":[{"role":"user","parts":[{"inline_data":{"mime_type":"image/png","data":"AA"}},{"fileData":{"fileUri":"gs://b/o"},"videoMetadata":{"fps":1}}]}]}"#,
        r#"user(i:data:image/png;base64,AA p:{"fileData":{"fileUri":"gs://b/o"},"videoMetadata":{"fps":1}})"#,
    );
}

#[test]
fn calls_of_other_providers_have_no_provider() {
    let skipped =
        r#"{"functionCall":{"id":"a","name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"}"#;
    check(
        &format!(r#"{{"contents":[{{"role":"model","parts":[{{"text":"ok"}},{skipped}]}}]}}"#),
        "assistant(t:ok) a:f{}",
    );
    check(
        &format!(r#"{{"contents":[{{"role":"model","parts":[{{"text":"hm","thought":true}},{skipped}]}}]}}"#),
        "assistant@gemini(h:hm) a:f{}",
    );
}

#[test]
fn results_keep_their_images() {
    check(
        r#"{"contents":[{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{"output":{"n":1}},"parts":[{"inlineData":{"mimeType":"image/png","data":"AA"}}]}}]}]}"#,
        r#"a=Succeeded(t:{"n":1} i:data:image/png;base64,AA)"#,
    );
}

#[test]
fn invalid_requests_are_rejected_without_contents() {
    let call = |call: &str| format!(r#"{{"contents":[{{"role":"model","parts":[{{"functionCall":{call}}}]}}]}}"#);
    let long = "x".repeat(257);
    for (body, expected) in [
        ("{", "an unexpected end"),
        (r#"{"contents":"secret"}"#, "an unexpected structure"),
        (r#"{"contents":[{"role":"secret","parts":[]}]}"#, "contents[0].role is unknown"),
        (
            r#"{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"f"}}]}]}"#,
            "contents[0].parts[0] has no call",
        ),
        (
            r#"{"contents":[{"role":"user","parts":[{"text":"a","functionCall":{"name":"f"}}]}]}"#,
            "contents[0].parts[0] has several data fields",
        ),
        (call("{}").as_str(), "contents[0].parts[0].functionCall.name"),
        (call(&format!(r#"{{"name":"{long}"}}"#)).as_str(), "contents[0].parts[0].functionCall.name"),
        (call(&format!(r#"{{"name":"f","id":"{long}"}}"#)).as_str(), "contents[0].parts[0].functionCall.id"),
        (call(r#"{"name":5}"#).as_str(), "an unexpected structure"),
        (call(r#"{"name":"f","willContinue":true}"#).as_str(), "functionCall.partialArgs"),
    ] {
        let error = parse_history(body.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("secret"), "{error}");
    }
}

#[track_caller]
fn check(body: &str, expected: &str) {
    let facts: Vec<String> =
        parse_history(body.as_bytes()).unwrap().iter().map(crate::tests::gemini::describe_fact).collect();
    assert_eq!(facts.join(" "), expected);
}
