//! Parsing of requests into facts.

use domain::event::{MessageAppended, Role, ToolOutput};
use domain::{Fact, Part};

use super::notation::*;
use crate::anthropic::{parse_history, render};
use crate::options::RenderOptions;
use crate::reply::ParseError;

/// A fact in short.
pub(super) fn short(fact: &Fact) -> String {
    if let Fact::MessageAppended(content) = fact {
        let parts: Vec<String> = content.parts.iter().map(part).collect();
        let provider = content.provider.as_ref().map(|name| format!("@{name}")).unwrap_or_default();
        return format!("{}{provider}: {}", content.role.as_str(), parts.join(" | "));
    }
    if let Fact::ToolCalled(call) = fact {
        let input = call.input.as_str();
        return format!("{}: {}({input})", call.call_id, call.tool_name);
    }
    if let Fact::ToolReturned(result) = fact {
        let output = match &result.output {
            ToolOutput::Json(document) => format!("json {}", document.as_str()),
            ToolOutput::Parts(parts) => parts.iter().map(part).collect::<Vec<_>>().join(" | "),
        };
        return format!("{} -> {:?} {output}", result.call_id, result.outcome);
    }
    format!("{fact:?}")
}

fn part(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::ProviderItem { provider, item } => format!("{provider} {}", item.as_str()),
        Part::Image { .. }
        | Part::File { .. }
        | Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::Refusal(_) => format!("{part:?}"),
    }
}

fn check(body: &str, expected: &[&str]) {
    let facts = parse_history(body.as_bytes()).unwrap();
    assert_eq!(facts.iter().map(short).collect::<Vec<_>>(), expected);
}

#[test]
fn short_forms_are_read() {
    check(
        r#"{"model":"m","max_tokens":1,"system":"be kind","tools":[],"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"},{"role":"assistant","content":[]},{"role":"user","content":""}]}"#,
        &["system: be kind", "user: hi", "assistant: ho"],
    );
}

#[test]
fn calls_and_results_are_read() {
    check(
        r#"{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"x": 1.0}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"plain","is_error":true},{"type":"text","text":"so?"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"1"},{"type":"search_result","x":1}]},{"type":"tool_result","tool_use_id":"c","is_error":null},{"type":"tool_result","tool_use_id":"d","content":"[1]"}]}]}"#,
        &[
            "assistant: ",
            r#"a: f({"x": 1.0})"#,
            "a -> Failed plain",
            "user: so?",
            r#"b -> Succeeded 1 | anthropic {"type":"search_result","x":1}"#,
            "c -> Succeeded ",
            "d -> Succeeded json [1]",
        ],
    );
}

#[test]
fn blocks_without_canonical_form_are_kept() {
    for block in [
        r#"{"type":"image","source":{"type":"s3","bucket":"b"}}"#,
        r#"{"type":"document","source":{"type":"content","content":"x"}}"#,
        r#"{"type":"document","source":{"type":"url","url":"u"},"citations":{"enabled":true}}"#,
        r#"{"type":"document","source":{"type":"url","url":"u"},"title":"a\nb"}"#,
        r#"{"type":"container_upload","file_id":"file_1"}"#,
    ] {
        let body = messages(&user_json(block));
        check(&body, &[&format!("user: anthropic {block}")]);
    }
}

#[test]
fn values_that_events_cannot_contain_are_rejected_with_their_path() {
    let call =
        |id: &str| messages(&assistant_json(&format!(r#"{{"type":"tool_use","id":"{id}","name":"f","input":{{}}}}"#)));
    assert!(parse_history(call(&"a".repeat(256)).as_bytes()).is_ok());
    for id in ["", "a\\n", &"a".repeat(257)] {
        let refused = parse_history(call(id).as_bytes());
        let Err(ParseError::Unusable { field, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(field, "messages[0].content[0].id");
    }
}

#[test]
fn invalid_requests_are_rejected_without_contents() {
    for body in [
        "",
        "[]",
        r#"{"messages":1}"#,
        r#"{"messages":[{"role":"secret","content":"secret"}]}"#,
        r#"{"messages":[{"role":"user","content":"secret"},{"role":"user","content":[{"type":"text","text":["secret"]}]}]}"#,
    ] {
        let refused = parse_history(body.as_bytes()).unwrap_err();
        assert!(matches!(refused, ParseError::Malformed { .. }), "{refused:?}");
        assert!(!refused.to_string().contains("secret"), "{refused}");
    }
}

#[test]
fn documents_by_url_are_pdf() {
    let block = r#"{"type":"document","source":{"type":"url","url":"https://e.example/d"}}"#;
    let facts = parse_history(messages(&user_json(block)).as_bytes()).unwrap();
    let [Fact::MessageAppended(content)] = facts.as_slice() else {
        panic!("{facts:?}");
    };
    let written = render(&turns([turn(Role::User, content.parts.clone())]), &RenderOptions::default());
    assert_eq!(written.body, messages(&user_json(block)).into_bytes());
}

#[test]
fn a_rendering_reads_back() {
    let png = "data:image/png;base64,iVBORw==";
    let content = [
        turn(Role::System, [text("be kind")]),
        turn(Role::User, [text("hi"), image(png), file("data:text/plain;base64,YQ==", "a.txt")]),
        calling(
            by(
                "anthropic",
                [
                    thought("t", "s"),
                    Part::RedactedThinking("r".into()),
                    text("a"),
                    item("anthropic", r#"[{"type":"c"}]"#),
                ],
            ),
            [
                call("c1", r#"{"a": 1.0}"#, document(r#"{"b": 2.0}"#)),
                failed(call("c2", "{}", ToolOutput::Parts(vec![text("no")]))),
                failed(call("c3", "{}", ToolOutput::Parts(vec![]))),
                call("c4", "{}", ToolOutput::Parts(vec![text("yes"), image(png)])),
            ],
        ),
        assistant("b"),
    ];
    let written = render(&turns(content), &RenderOptions::default());
    assert_eq!(describe_losses(&written), [""; 0]);
    let facts = parse_history(&written.body).unwrap();
    let shown: Vec<String> = facts.iter().map(short).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn inserted_texts_are_not_messages() {
    let written = render(&turns([assistant("a")]), &RenderOptions::default());
    let facts = parse_history(&written.body).unwrap();
    let [Fact::MessageAppended(MessageAppended { role, parts, .. })] = facts.as_slice() else {
        panic!("{facts:?}");
    };
    assert_eq!((*role, parts.as_slice()), (Role::Assistant, [text("a")].as_slice()));
}
