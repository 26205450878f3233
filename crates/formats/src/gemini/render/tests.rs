use context::AnsweredCall;
use domain::event::{ToolOutcome, ToolOutput};
use domain::{MediaSource, Part, ToolName};

use super::*;
use crate::Thoughts;
use crate::tests::gemini::{answered, call, foreign, item, losses, own, text, thought, turn, user};

const SKIPPED: &str = r#"{"functionCall":{"id":"a","name":"search","args":{"q":1}},"thoughtSignature":"skip_thought_signature_validator"}"#;
const ANSWER: &str = r#"{"functionResponse":{"id":"a","name":"search","response":{"output":{"n":1}}}}"#;

#[test]
fn g1_g6_the_list_begins_and_ends_with_the_user() {
    check(vec![], r#"u[{"text":"(Continue.)"}]"#);
    check(vec![user(1, "hi")], r#"u[{"text":"hi"}]"#);
    check(
        vec![foreign(1, vec![text("hi")], vec![])],
        r#"u[{"text":"(The conversation begins with the assistant.)"}] m[{"text":"hi"}] u[{"text":"(Continue.)"}]"#,
    );
}

#[test]
fn g2_g7_empty_parts_and_turns_are_left_out_and_neighbours_are_one() {
    check(
        vec![
            user(1, "a"),
            foreign(2, vec![text("")], vec![]),
            turn(3, Role::User, vec![text(""), text("b"), text(" ")]),
            foreign(4, vec![text("c")], vec![]),
            foreign(5, vec![text("d")], vec![]),
            user(6, "e"),
        ],
        r#"u[{"text":"a"},{"text":"b"},{"text":" "}] m[{"text":"c"},{"text":"d"}] u[{"text":"e"}]"#,
    );
}

#[test]
fn g3_g4_results_follow_their_calls_in_order_in_one_content() {
    let mut failed = call(4, "b", r#"{"q":2}"#, None);
    failed.answer.outcome = ToolOutcome::Failed;
    failed.answer.output = ToolOutput::Parts(vec![text("no"), text("way")]);
    check(
        vec![
            user(1, "go"),
            foreign(2, vec![text("ok")], vec![call(3, "a", r#"{"q":1}"#, None), failed]),
            user(5, "and?"),
        ],
        &format!(
            r#"u[{{"text":"go"}}] m[{{"text":"ok"}},{SKIPPED},{{"functionCall":{{"id":"b","name":"search","args":{{"q":2}}}}}}] u[{ANSWER},{{"functionResponse":{{"id":"b","name":"search","response":{{"error":"no\nway"}}}}}},{{"text":"and?"}}]"#
        ),
    );
}

#[test]
fn g5_the_first_call_of_each_step_is_signed() {
    check(
        vec![
            user(1, "go"),
            own(2, vec![], vec![call(3, "a", "{}", Some("s1"))]),
            own(4, vec![], vec![call(5, "b", "{}", None), call(6, "c", "{}", Some("s2"))]),
        ],
        concat!(
            r#"u[{"text":"go"}]"#,
            r#" m[{"functionCall":{"id":"a","name":"search","args":{}},"thoughtSignature":"s1"}]"#,
            r#" u[{"functionResponse":{"id":"a","name":"search","response":{"output":{"n":1}}}}]"#,
            r#" m[{"functionCall":{"id":"b","name":"search","args":{}},"thoughtSignature":"skip_thought_signature_validator"},"#,
            r#"{"functionCall":{"id":"c","name":"search","args":{}},"thoughtSignature":"s2"}]"#,
            r#" u[{"functionResponse":{"id":"b","name":"search","response":{"output":{"n":1}}}},"#,
            r#"{"functionResponse":{"id":"c","name":"search","response":{"output":{"n":1}}}}]"#,
        ),
    );
}

#[test]
fn g5_thoughts_and_signatures_go_back_on_what_they_sign() {
    let parts = vec![thought("hm", Some("s0")), text("a"), thought("", Some("s1")), text("b"), thought("so", None)];
    check(
        vec![user(1, "go"), own(2, parts, vec![]), user(3, "on")],
        r#"u[{"text":"go"}] m[{"text":"hm","thought":true,"thoughtSignature":"s0"},{"text":"a","thoughtSignature":"s1"},{"text":"b"},{"text":"so","thought":true}] u[{"text":"on"}]"#,
    );
}

#[test]
fn inputs_and_outputs_are_verbatim() {
    let input = r#" {"b":1.0000000000000000000001, "a":1e400,"b":"\u0000"} "#;
    let mut answered_with_null = call(2, "a", input, Some("s"));
    answered_with_null.answer = answered("null");
    check(
        vec![user(1, "go"), own(2, vec![], vec![answered_with_null])],
        &format!(
            r#"u[{{"text":"go"}}] m[{{"functionCall":{{"id":"a","name":"search","args":{}}},"thoughtSignature":"s"}}] u[{{"functionResponse":{{"id":"a","name":"search","response":{{"output":null}}}}}}]"#,
            input.trim()
        ),
    );
}

#[test]
fn items_of_the_provider_are_verbatim() {
    let ran = r#"{"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"s"}"#;
    check(
        vec![user(1, "go"), own(2, vec![item("gemini", ran)], vec![]), user(3, "on")],
        &format!(r#"u[{{"text":"go"}}] m[{ran}] u[{{"text":"on"}}]"#),
    );
}

/// Renders the turns and compares `contents`, with one letter per role.
#[track_caller]
fn check(turns: Vec<Turn>, expected: &str) {
    let transcript = Transcript { turns, ..Transcript::default() };
    let rendered = render(&transcript, &RenderOptions::default());
    assert_eq!(contents(&rendered), expected);
}

fn contents(rendered: &Rendered) -> String {
    let body = str::from_utf8(&rendered.body).unwrap();
    let (_, list) = body.split_once(r#""contents":["#).unwrap();
    let list = list.strip_suffix("}]}").unwrap();
    list.replace(r#"},{"role":"#, r#"} {"role":"#)
        .replace(r#"]} {"role":"#, r#"] {"role":"#)
        .replace(r#"{"role":"user","parts":"#, "u")
        .replace(r#"{"role":"model","parts":"#, "m")
}

#[test]
fn omitted_thoughts_keep_the_signatures_of_calls() {
    let options = RenderOptions { thoughts: Thoughts::Omit, ..RenderOptions::default() };
    let transcript = Transcript {
        turns: vec![own(
            1,
            vec![thought("hm", None), text("a"), thought("", Some("s1"))],
            vec![call(2, "a", "{}", Some("s2"))],
        )],
        ..Transcript::default()
    };
    let rendered = render(&transcript, &options);
    assert_eq!(losses(&rendered), "1 thinking nothing, 1 thinking nothing");
    let body = String::from_utf8(rendered.body).unwrap();
    assert!(!body.contains("hm") && !body.contains("s1") && body.contains("s2"), "{body}");
}

#[test]
fn a_whole_context_reads_well() {
    let rendered = render(&whole(), &RenderOptions::default());
    let body: serde_json::Value = serde_json::from_slice(&rendered.body).unwrap();
    let names: Vec<_> = rendered.names.tools().chain(rendered.names.calls()).collect();
    assert!(rendered.body.starts_with(br#"{"systemInstruction":"#));
    insta::assert_snapshot!(format!(
        "{}\n\nnames: {names:?}\nlosses: {}",
        serde_json::to_string_pretty(&body).unwrap(),
        losses(&rendered)
    ));
}

fn whole() -> Transcript {
    let mut foreign_name = call(6, "toolu 1", r#"{"path":"/"}"#, None);
    foreign_name.called.tool_name = ToolName::parse("mcp.files/read").unwrap();
    let picture = Part::Image {
        source: MediaSource::Url("data:image/png;base64,iVBORw0=".to_owned()),
        media_type: None,
        detail: None,
    };
    Transcript {
        instructions: vec!["Be brief.".to_owned(), "Be kind.".to_owned()],
        opening: Some("Summary: they met.".to_owned()),
        turns: vec![
            turn(1, Role::Developer, vec![text("Speak English.")]),
            turn(2, Role::User, vec![text("What is this?"), picture]),
            own(
                3,
                vec![thought("A logo?", None), text("Let me see.")],
                vec![call(4, "call_1", r#"{"q":"logo"}"#, Some("c2ln"))],
            ),
            turn(5, Role::System, vec![text("The user is on /home.")]),
            foreign(6, vec![thought("Hm", Some("x"))], vec![foreign_name]),
            own(8, vec![text("A logo."), thought("", Some("c2lnMg=="))], vec![]),
            user(9, "Thanks."),
        ],
        closing: Some("It is noon.".to_owned()),
    }
}

#[test]
fn a_new_turn_only_appends() {
    let turns = whole().turns;
    let written: Vec<String> = (1..=turns.len())
        .map(|count| {
            let turns = turns.iter().take(count).cloned().collect();
            let transcript = Transcript { turns, ..Transcript::default() };
            let rendered = render(&transcript, &RenderOptions::default());
            let body = String::from_utf8(rendered.body).unwrap();
            let ending = format!(r#",{{"role":"user","parts":[{{"text":"{CONTINUE}"}}]}}]}}"#);
            let body = body.strip_suffix(&ending).unwrap_or(&body);
            body.trim_end_matches([']', '}']).to_owned()
        })
        .collect();
    for (shorter, longer) in written.iter().skip(1).zip(written.iter().skip(2)) {
        assert!(longer.starts_with(shorter.as_str()), "{shorter}\n{longer}");
    }
}

#[test]
fn calls_with_equal_ids_get_unique_ids() {
    let again = |version: u64| -> Vec<AnsweredCall> { vec![call(version, "a", "{}", None)] };
    let transcript =
        Transcript { turns: vec![foreign(1, vec![], again(2)), foreign(3, vec![], again(4))], ..Transcript::default() };
    let rendered = render(&transcript, &RenderOptions::default());
    let (written, recorded) = rendered.names.calls().next().unwrap();
    assert_eq!(recorded, "a");
    let body = String::from_utf8(rendered.body.clone()).unwrap();
    assert_eq!(body.matches(&format!(r#""id":"{written}""#)).count(), 2);
    assert_eq!(body.matches(r#""id":"a""#).count(), 2);
}
