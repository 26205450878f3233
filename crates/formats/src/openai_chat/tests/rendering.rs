use context::{Transcript, Turn};
use domain::event::{Role, ToolOutput};
use domain::{MediaSource, Part};

use crate::openai_chat::render;
use crate::options::{InstructionsRole, RenderOptions};
use crate::tests::chat::{
    answered, calling, describe_losses, failed, image, item, json, label, readable, text, thought, transcript, turn,
    user, with_input,
};

/// Checks the messages of these turns, and the losses.
fn check(turns: Vec<Turn>, messages: &str, losses: &str) {
    let rendered = render(&transcript(turns), &RenderOptions::default());
    let body = String::from_utf8(rendered.body).unwrap();
    assert_eq!(body, format!("{{\"messages\":[{messages}]}}"));
    assert_eq!(describe_losses(&rendered.losses), losses);
}

#[test]
fn o1_neither_list_nor_content_is_empty() {
    let nothing = r#"{"role":"user","content":"(Nothing has been said yet.)"}"#;
    check(vec![], nothing, "");
    check(vec![user(""), turn(Role::Assistant, vec![])], nothing, "");
    let spaced = turn(Role::User, vec![text(""), text(" ")]);
    check(vec![spaced], r#"{"role":"user","content":" "}"#, "");
    check(
        vec![turn(Role::User, vec![text("a"), text(""), text("b")])],
        r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
        "",
    );
}

#[test]
fn o2_an_assistant_says_or_calls_something() {
    let refusal = |refusal: &str| Part::Refusal(refusal.to_owned());
    let parts_turn = |parts| vec![turn(Role::Assistant, parts)];
    check(
        parts_turn(vec![refusal("No.")]),
        r#"{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}"#,
        "",
    );
    check(parts_turn(vec![text("Hm."), refusal("No.")]), r#"{"role":"assistant","content":"Hm.","refusal":"No."}"#, "");
    check(
        parts_turn(vec![refusal("No."), text("Hm.")]),
        r#"{"role":"assistant","content":"Hm.","refusal":"No."}"#,
        "1 part_order other_form",
    );
    check(
        vec![user("a"), turn(Role::Assistant, vec![thought("hm")])],
        r#"{"role":"user","content":"a"}"#,
        "2 thinking nothing",
    );
}

#[test]
fn o3_calls_stand_together_and_their_results_follow() {
    let calls = vec![answered("a", "f", json("{\"n\": 1.0}")), with_input(answered("b", "g", json("null")), "[1]")];
    check(
        vec![calling(vec![text("Look.")], calls)],
        concat!(
            r#"{"role":"assistant","content":"Look.","tool_calls":["#,
            r#"{"type":"function","id":"a","function":{"name":"f","arguments":"{\"q\": 1.50}"}},"#,
            r#"{"type":"function","id":"b","function":{"name":"g","arguments":"[1]"}}]},"#,
            r#"{"role":"tool","tool_call_id":"a","content":"{\"n\": 1.0}"},"#,
            r#"{"role":"tool","tool_call_id":"b","content":"null"}"#,
        ),
        "",
    );
}

#[test]
fn o4_results_and_instructions_are_text() {
    let output = ToolOutput::Parts(vec![text("a"), image("https://x.org/a.png", None)]);
    check(
        vec![calling(vec![], vec![failed("a", "f", output)])],
        concat!(
            r#"{"role":"assistant","content":null,"tool_calls":["#,
            r#"{"type":"function","id":"a","function":{"name":"f","arguments":"{\"q\": 1.50}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"a","content":["#,
            r#"{"type":"text","text":"Error: a"},{"type":"text","text":"[image]"}]}"#,
        ),
        "1 image text, 1 outcome text",
    );
    let empty = answered("a", "f", ToolOutput::Parts(vec![]));
    check(
        vec![calling(vec![], vec![empty])],
        concat!(
            r#"{"role":"assistant","content":null,"tool_calls":["#,
            r#"{"type":"function","id":"a","function":{"name":"f","arguments":"{\"q\": 1.50}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"a","content":""}"#,
        ),
        "",
    );
    check(
        vec![turn(Role::Developer, vec![image("https://x.org/a.png", None)])],
        r#"{"role":"system","content":"[image]"}"#,
        "1 image text",
    );
}

#[test]
fn o5_o6_ids_and_names_are_safe() {
    let mut call = answered("call 1", "files.read", json("1"));
    call.called.signature = Some("s".to_owned());
    check(
        vec![calling(vec![], vec![call])],
        concat!(
            r#"{"role":"assistant","content":null,"tool_calls":[{"type":"function","#,
            r#""id":"call_1_21c5c2a600ce3c16f8a2","function":"#,
            r#"{"name":"files_read_601e4eb608f9175e1b03","arguments":"{\"q\": 1.50}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"call_1_21c5c2a600ce3c16f8a2","content":"1"}"#,
        ),
        "1 call_signature nothing",
    );
}

#[test]
fn names_of_authors_are_made_safe() {
    let by = |author: &str| Turn { author: Some(label(author)), ..user("a") };
    check(vec![by("anna")], r#"{"role":"user","name":"anna","content":"a"}"#, "");
    check(
        vec![by("Anna M.")],
        r#"{"role":"user","name":"Anna_M__4d011226aedbea98d33a","content":"a"}"#,
        "1 author other_form",
    );
}

#[test]
fn media_of_a_user() {
    let file = |source, filename: Option<&str>| Part::File { source, media_type: None, filename: filename.map(label) };
    let url = |url: &str| MediaSource::Url(url.to_owned());
    let part = |part: Part, written: &str, losses: &str| {
        let message = format!(r#"{{"role":"user","content":{written}}}"#);
        check(vec![turn(Role::User, vec![part])], &message, losses);
    };
    part(
        image("https://x.org/a.png", Some("low")),
        r#"[{"type":"image_url","image_url":{"url":"https://x.org/a.png","detail":"low"}}]"#,
        "",
    );
    part(
        image("data:image/png;base64,AAAA", Some("ultra")),
        r#"[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]"#,
        "1 image_detail nothing",
    );
    part(image("gs://x/a.png", None), r#""[image]""#, "1 image text");
    part(
        file(MediaSource::FileId("file-1".to_owned()), Some("a.pdf")),
        r#"[{"type":"file","file":{"file_id":"file-1"}}]"#,
        "1 file other_form",
    );
    part(file(MediaSource::FileId(String::new()), None), r#""[file]""#, "1 file text");
    part(
        file(url("data:text/csv;base64,AAAA"), None),
        r#"[{"type":"file","file":{"filename":"file","file_data":"data:text/csv;base64,AAAA"}}]"#,
        "",
    );
    part(file(url("https://x.org/a.pdf"), Some("a.pdf")), r#""[file: a.pdf]""#, "1 file text");
    let audio = r#"{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}"#;
    part(item("openai", audio), &format!("[{audio}]"), "");
}

#[test]
fn items_of_other_providers_are_lost() {
    let items = vec![
        text("a"),
        item("openai", r#"{"type":"reasoning","id":"rs_1"}"#),
        item("anthropic", r#"{"type":"input_audio"}"#),
    ];
    let lost = "1 provider_item nothing, 1 provider_item nothing";
    check(vec![turn(Role::User, items)], r#"{"role":"user","content":"a"}"#, lost);
}

#[test]
fn a_telling_conversation() {
    let transcript = Transcript {
        instructions: vec!["Be brief.".to_owned(), "Be kind.".to_owned()],
        opening: Some("Summary: they spoke of the weather.".to_owned()),
        closing: Some("It is noon.".to_owned()),
        ..transcript(vec![
            user("What is it like in Bern?"),
            turn(Role::System, vec![text("Use Celsius.")]),
            calling(vec![thought("hm")], vec![answered("a", "weather", json("{\"c\":21}"))]),
            turn(Role::Assistant, vec![text("21 °C.")]),
        ])
    };
    let options = RenderOptions {
        instructions_role: InstructionsRole::Developer,
        cache_key: Some("conversation-1".to_owned()),
        ..RenderOptions::default()
    };
    insta::assert_snapshot!(readable(&render(&transcript, &options)));
}

#[test]
fn a_new_turn_only_appends() {
    let turns = [
        turn(Role::Assistant, vec![text("Hello.")]),
        user("a"),
        user("b"),
        calling(vec![], vec![answered("a", "f", json("1"))]),
        calling(vec![text("x")], vec![answered("a", "f", json("2"))]),
    ];
    let body = |count: usize| {
        let turns = turns.iter().take(count).cloned().collect();
        let rendered = render(&transcript(turns), &RenderOptions::default());
        String::from_utf8(rendered.body).unwrap()
    };
    for count in 1..turns.len() {
        let (shorter, longer) = (body(count), body(count + 1));
        let shared = shorter.strip_suffix("]}").unwrap();
        assert!(longer.starts_with(shared), "{longer}");
    }
}
