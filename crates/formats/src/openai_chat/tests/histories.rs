use context::Turn;
use domain::event::{Role, ToolOutput};
use domain::{MediaSource, Part};

use crate::openai_chat::{parse_history, render};
use crate::options::RenderOptions;
use crate::reply::ParseError;
use crate::tests::chat::{answered, calling, describe_facts, image, item, json, label, text, transcript, turn, user};

#[test]
fn any_valid_history_is_parsed() {
    check(
        r#"{"role":"developer","content":[{"type":"text","text":"a"},{"type":"text","text":""}]}"#,
        &[r#"developer [Text("a")]"#],
    );
    check(
        r#"{"role":"user","name":"anna","content":[
            {"type":"image_url","image_url":{"url":"data:image/png;base64,AA==","detail":"low"}},
            {"type":"file","file":{"file_id":"file-1","filename":"a.pdf"}},
            {"type":"video_url", "video_url":{"url":"https://x.org/a.mp4"}}]}"#,
        &[concat!(
            "user(anna) [",
            r#"Image { source: Url("data:image/png;base64,AA=="), media_type: Some(Label("image/png")), detail: Some(Label("low")) }, "#,
            r#"File { source: FileId("file-1"), media_type: None, filename: Some(Label("a.pdf")) }, "#,
            r#"ProviderItem { provider: Label("openai"), item: JsonText("{\"type\":\"video_url\", \"video_url\":{\"url\":\"https://x.org/a.mp4\"}}") }]"#,
        )],
    );
    check(
        r#"{"role":"assistant","content":"a","refusal":"No.","reasoning_content":"hm"}"#,
        &[r#"assistant [Thinking { text: "hm", signature: None }, Text("a"), Refusal("No.")]"#],
    );
    check(
        r#"{"role":"assistant","content":null,"tool_calls":[
              {"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\": 1.0}"}},
              {"id":"b","type":"custom","custom":{"name":"g","input":"free text"}}]},
           {"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"1"}]},
           {"role":"tool","tool_call_id":"a","content":"{\"m\": 2.0}"}"#,
        &[
            "assistant []",
            r#"call a f {"n": 1.0}"#,
            r#"call b g "free text""#,
            r#"result b g Parts([Text("1")])"#,
            r#"result a f Json(JsonText("{\"m\": 2.0}"))"#,
        ],
    );
    check(
        r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},
           {"role":"function","name":"f","content":"sunny"}"#,
        &[
            "assistant []",
            "call call_259aa8ef98a8b91de574_0 f {}",
            r#"result call_259aa8ef98a8b91de574_0 f Parts([Text("sunny")])"#,
        ],
    );
}

fn check(messages: &str, expected: &[&str]) {
    let body = format!(r#"{{"model":"m","messages":[{messages}]}}"#);
    let facts = parse_history(body.as_bytes()).unwrap();
    assert_eq!(describe_facts(&facts), expected);
}

#[test]
fn what_is_written_is_read_back() {
    let file = Part::File {
        source: MediaSource::Url("data:text/csv;base64,AAAA".to_owned()),
        media_type: Some(label("text/csv")),
        filename: Some(label("a.csv")),
    };
    let audio = r#"{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}"#;
    let outputs = ToolOutput::Parts(vec![text("x"), text("y")]);
    let turns = vec![
        Turn {
            author: Some(label("anna")),
            ..turn(Role::User, vec![text("a"), text("b"), file, item("openai", audio)])
        },
        turn(Role::User, vec![image("https://x.org/a.png", Some("low"))]),
        calling(vec![text("c")], vec![answered("call 1", "a.b", json("{\"n\": 1e400}"))]),
        calling(vec![], vec![answered("call 1", "a.b", outputs)]),
        turn(Role::System, vec![text("d")]),
        turn(Role::Assistant, vec![text("e"), Part::Refusal("f".to_owned())]),
        turn(Role::Assistant, vec![Part::Refusal("g".to_owned())]),
    ];
    let rendered = render(&transcript(turns), &RenderOptions::default());
    assert_eq!(rendered.losses, []);
    let mut facts = parse_history(&rendered.body).unwrap();
    rendered.names.restore(&mut facts);
    insta::assert_snapshot!(describe_facts(&facts).join("\n"));
}

#[test]
fn inserted_texts_are_not_messages() {
    let empty = render(&transcript(vec![]), &RenderOptions::default());
    assert_eq!(parse_history(&empty.body), Ok(vec![]));
    let rendered = render(&transcript(vec![user("a")]), &RenderOptions::default());
    assert_eq!(parse_history(&rendered.body).unwrap().len(), 1);
}

#[test]
fn invalid_histories_are_rejected() {
    let malformed = |body: &str, reason: &str| {
        let expected = ParseError::Malformed { format: "openai-chat", reason: reason.to_owned() };
        assert_eq!(parse_history(body.as_bytes()), Err(expected));
    };
    malformed("[", "an unexpected end at line 1, column 1");
    malformed("{\"messages\":1}", "a value of another type than expected at line 1, column 13");
    malformed(r#"{"messages":[{"role":"secret"}]}"#, "messages[0].role is not a role of the format");
    let unusable = |message: &str, field: &str| {
        let body = format!(r#"{{"messages":[{message}]}}"#);
        let refused = parse_history(body.as_bytes()).unwrap_err();
        assert!(matches!(&refused, ParseError::Unusable { field: f, .. } if f == field), "{refused}");
    };
    unusable(r#"{"role":"tool","content":"a"}"#, "messages[0].tool_call_id");
    unusable(r#"{"role":"user","name":"\n","content":"a"}"#, "messages[0].name");
}
