use context::{Transcript, Turn};
use domain::Part;
use domain::event::{Role, ToolOutput};

use crate::ollama::render;
use crate::options::{RenderOptions, Thoughts};
use crate::tests::chat::{
    answered, calling, describe_losses, failed, image, item, json, label, readable, text, thought, transcript, turn,
    user, with_input,
};

const SYSTEM: &str = r#"{"role":"system","content":"You are a helpful assistant."}"#;

/// Checks the messages of these turns after the first one, and the losses.
fn check(turns: Vec<Turn>, messages: &str, losses: &str) {
    check_with(&RenderOptions::default(), turns, messages, losses);
}

fn check_with(options: &RenderOptions, turns: Vec<Turn>, messages: &str, losses: &str) {
    let rendered = render(&transcript(turns), options);
    let body = String::from_utf8(rendered.body).unwrap();
    let comma = if messages.is_empty() { "" } else { "," };
    let expected = format!(r#"{{"truncate":false,"messages":[{SYSTEM}{comma}{messages}]}}"#);
    assert_eq!(body, expected);
    assert_eq!(describe_losses(&rendered.losses), losses);
}

#[test]
fn l1_contents_are_strings_and_pictures_stand_apart() {
    check(vec![user(""), turn(Role::Assistant, vec![])], "", "");
    let texts = turn(Role::User, vec![text("a"), text(""), text("b")]);
    check(vec![texts], r#"{"role":"user","content":"a\nb"}"#, "");
    let png = || image("data:image/png;base64,AAAA", None);
    let pictured = r#"{"role":"user","content":"a","images":["AAAA"]}"#;
    check(vec![turn(Role::User, vec![png(), text("a")])], pictured, "");
    let lost = "1 part_order other_form";
    check(vec![turn(Role::User, vec![text("a"), png()])], pictured, lost);
    let detailed = image("data:image/png;base64,AAAA", Some("low"));
    let alone = r#"{"role":"user","content":"","images":["AAAA"]}"#;
    check(vec![turn(Role::User, vec![detailed])], alone, "1 image_detail nothing");
    let linked = turn(Role::User, vec![image("https://x.org/a.png", None)]);
    check(vec![linked], r#"{"role":"user","content":"[image]"}"#, "1 image text");
    let answer = turn(Role::Assistant, vec![png()]);
    check(vec![answer], r#"{"role":"assistant","content":"[image]"}"#, "1 image text");
}

#[test]
fn l2_arguments_are_objects_and_results_name_their_tool() {
    let call = |input: &str| with_input(answered("call 1", "a.b", json("{\"n\": 1.0}")), input);
    let unit = |arguments: &str| {
        format!(
            concat!(
                r#"{{"role":"assistant","content":"","tool_calls":[{{"id":"{id}","#,
                r#""function":{{"name":"{name}","arguments":{arguments}}}}}]}},"#,
                r#"{{"role":"tool","tool_name":"{name}","tool_call_id":"{id}","content":"{{\"n\": 1.0}}"}}"#,
            ),
            id = "call_1_21c5c2a600ce3c16f8a2",
            name = "a_b_2e7336dc8eba87ef472d",
            arguments = arguments,
        )
    };
    let verbatim = r#"{"n": 1e400,  "n":2}"#;
    check(vec![calling(vec![], vec![call(verbatim)])], &unit(verbatim), "");
    let wrapped = |input: &str, written: &str| {
        let turns = vec![calling(vec![], vec![call(input)])];
        check(turns, &unit(written), "1 input_form other_form");
    };
    wrapped("[1]", r#"{"input":[1]}"#);
    wrapped(" null ", r#"{"input":null}"#);
    wrapped("\"a\"", r#"{"input":"a"}"#);
}

#[test]
fn l3_calls_stand_together_and_their_results_follow() {
    let output = ToolOutput::Parts(vec![text("x"), Part::Refusal("y".to_owned())]);
    let mut second = failed("b", "g", output);
    second.called.signature = Some("s".to_owned());
    check(
        vec![calling(vec![text("Look.")], vec![answered("a", "f", json("1")), second])],
        concat!(
            r#"{"role":"assistant","content":"Look.","tool_calls":["#,
            r#"{"id":"a","function":{"name":"f","arguments":{"q": 1.50}}},"#,
            r#"{"id":"b","function":{"name":"g","arguments":{"q": 1.50}}}]},"#,
            r#"{"role":"tool","tool_name":"f","tool_call_id":"a","content":"1"},"#,
            r#"{"role":"tool","tool_name":"g","tool_call_id":"b","content":"Error: x\ny"}"#,
        ),
        "1 refusal text, 1 outcome text, 1 call_signature nothing",
    );
}

#[test]
fn l4_l5_the_system_speaks_first_and_nothing_is_truncated() {
    let written = |instructions: &[&str], context_tokens_max| {
        let transcript = Transcript {
            instructions: instructions.iter().map(ToString::to_string).collect(),
            ..Transcript::default()
        };
        let options = RenderOptions { context_tokens_max, ..RenderOptions::default() };
        String::from_utf8(render(&transcript, &options).body).unwrap()
    };
    assert_eq!(
        written(&[], None),
        r#"{"truncate":false,"messages":[{"role":"system","content":"You are a helpful assistant."}]}"#
    );
    assert_eq!(
        written(&["a", "b"], Some(8_192)),
        r#"{"truncate":false,"options":{"num_ctx":8192},"messages":[{"role":"system","content":"a\n\nb"}]}"#
    );
}

#[test]
fn own_thoughts_are_rendered() {
    let thinking =
        |provider: Option<&str>, parts| Turn { provider: provider.map(label), ..turn(Role::Assistant, parts) };
    let parts = || vec![thought("hm"), text("a")];
    let dropped = r#"{"role":"assistant","content":"a"}"#;
    let kept = r#"{"role":"assistant","thinking":"hm","content":"a"}"#;
    check(vec![thinking(Some("ollama"), parts())], kept, "");
    check(vec![thinking(None, parts())], dropped, "1 thinking nothing");
    check(vec![thinking(Some("openai"), parts())], dropped, "1 thinking nothing");
    let omitting = RenderOptions { thoughts: Thoughts::Omit, ..RenderOptions::default() };
    let own = vec![thinking(Some("ollama"), parts())];
    check_with(&omitting, own, dropped, "1 thinking nothing");
    let alone = thinking(Some("ollama"), vec![thought("hm")]);
    check(vec![alone], r#"{"role":"assistant","thinking":"hm","content":""}"#, "");
    let late = thinking(Some("ollama"), vec![text("a"), thought("hm")]);
    check(vec![late], kept, "1 part_order other_form");
    let signed = Part::Thinking { text: "hm".to_owned(), signature: Some("s".to_owned()) };
    let signed = thinking(Some("ollama"), vec![signed, text("a")]);
    check(vec![signed], kept, "1 thinking_signature nothing");
    let redacted = Part::RedactedThinking("x".to_owned());
    let redacted = thinking(Some("ollama"), vec![redacted, text("a")]);
    check(vec![redacted], dropped, "1 redacted_thinking nothing");
}

#[test]
fn parts_that_cannot_be_rendered() {
    let case = Turn { author: Some(label("anna")), ..turn(Role::User, vec![text("a"), item("ollama", "{}")]) };
    let lost = "1 provider_item nothing, 1 author nothing";
    check(vec![case], r#"{"role":"user","content":"a"}"#, lost);
}

#[test]
fn a_telling_conversation() {
    let transcript = Transcript {
        instructions: vec!["Be brief.".to_owned(), "Be kind.".to_owned()],
        opening: Some("Summary: they spoke of the weather.".to_owned()),
        closing: Some("It is noon.".to_owned()),
        ..transcript(vec![
            user("What is it like in Bern?"),
            turn(Role::Developer, vec![text("Use Celsius.")]),
            calling(vec![thought("hm")], vec![answered("a", "weather", json("{\"c\":21}"))]),
            turn(Role::Assistant, vec![text("21 °C.")]),
        ])
    };
    let options = RenderOptions { context_tokens_max: Some(32_768), ..RenderOptions::default() };
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
    for count in 0..turns.len() {
        let (shorter, longer) = (body(count), body(count + 1));
        let shared = shorter.strip_suffix("]}").unwrap();
        assert!(longer.starts_with(shared), "{longer}");
    }
}
