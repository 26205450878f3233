use context::Turn;
use domain::event::{Role, ToolOutput};

use crate::ollama::{parse_history, render};
use crate::options::RenderOptions;
use crate::reply::ParseError;
use crate::tests::chat::{
    answered, calling, describe_facts, image, json, label, text, thought, transcript, turn, user,
};

#[test]
fn any_valid_history_is_parsed() {
    check(
        r#"{"role":"user","content":"a","images":["iVBORw0KGgoA"]}"#,
        &[concat!(
            r#"user [Image { source: Url("data:image/png;base64,iVBORw0KGgoA"), "#,
            r#"media_type: Some(Label("image/png")), detail: None }, Text("a")]"#,
        )],
    );
    check(
        r#"{"role":"assistant","content":"a","thinking":"hm"}"#,
        &[r#"assistant [Thinking { text: "hm", signature: None }, Text("a")]"#],
    );
    check(
        r#"{"role":"assistant","content":"","tool_calls":[
              {"function":{"index":0,"name":"f","arguments":{"n": 1.0}}},
              {"function":{"index":1,"name":"g","arguments":{}}}]},
           {"role":"tool","tool_name":"g","content":"sunny"},
           {"role":"tool","content":"{\"m\": 2.0}"}"#,
        &[
            "assistant []",
            r#"call call_259aa8ef98a8b91de574_0 f {"n": 1.0}"#,
            "call call_259aa8ef98a8b91de574_1 g {}",
            r#"result call_259aa8ef98a8b91de574_1 g Parts([Text("sunny")])"#,
            r#"result call_259aa8ef98a8b91de574_0 f Json(JsonText("{\"m\": 2.0}"))"#,
        ],
    );
    check(r#"{"role":"tool","tool_name":"g","tool_call_id":"x","content":""}"#, &["result x g Parts([])"]);
}

fn check(messages: &str, expected: &[&str]) {
    let body = format!(r#"{{"model":"m","messages":[{messages}]}}"#);
    let facts = parse_history(body.as_bytes()).unwrap();
    assert_eq!(describe_facts(&facts), expected);
}

#[test]
fn what_is_written_is_read_back() {
    let jpeg = image("data:image/jpeg;base64,/9j/AAAA", None);
    let output = ToolOutput::Parts(vec![text("sunny")]);
    let turns = vec![
        turn(Role::User, vec![jpeg, text("a")]),
        Turn {
            provider: Some(label("ollama")),
            ..calling(vec![thought("hm"), text("c")], vec![answered("call 1", "a.b", json("{\"n\": 1e400}"))])
        },
        calling(vec![], vec![answered("call 1", "a.b", output)]),
        turn(Role::System, vec![text("d")]),
        turn(Role::Assistant, vec![text("e")]),
    ];
    let rendered = render(&transcript(turns), &RenderOptions::default());
    assert_eq!(rendered.losses, []);
    let mut facts = parse_history(&rendered.body).unwrap();
    rendered.names.restore(&mut facts);
    insta::assert_snapshot!(describe_facts(&facts).join("\n"));
}

#[test]
fn default_instructions_are_not_messages() {
    let rendered = render(&transcript(vec![user("a")]), &RenderOptions::default());
    let facts = parse_history(&rendered.body).unwrap();
    assert_eq!(describe_facts(&facts), [r#"user [Text("a")]"#]);
}

#[test]
fn invalid_histories_are_rejected() {
    let malformed = |body: &str, reason: &str| {
        let expected = ParseError::Malformed { format: "ollama", reason: reason.to_owned() };
        assert_eq!(parse_history(body.as_bytes()), Err(expected));
    };
    malformed("x", "invalid JSON at line 1, column 1");
    malformed(r#"{"messages":[{"role":"secret"}]}"#, "messages[0].role is not a role of the format");
    let stray = parse_history(br#"{"messages":[{"role":"tool","content":"a"}]}"#).unwrap_err();
    assert!(matches!(&stray, ParseError::Unusable { field, .. } if field == "messages[0].tool_call_id"));
}
