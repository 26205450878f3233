//! Assistant turns: thoughts, calls and results, items, media (A2, A3, A5, A8).

use context::Turn;
use domain::Part;
use domain::event::{Role, ToolOutput};

use super::notation::*;
use crate::anthropic::{CONTINUE, FAILED, OPENER};
use crate::options::{RenderOptions, Thoughts};

/// Checks the blocks of the first assistant message, and the message after it.
fn check_turn(case: Turn, blocks: &str, next: &str, losses: &[&str]) {
    let opener = user_json(&text_json(OPENER));
    let body = if blocks.is_empty() {
        messages(next)
    } else {
        messages(&format!("{opener},{},{next}", assistant_json(blocks)))
    };
    check(&turns([case]), &body, losses);
}

const T: &str = r#"{"type":"thinking","thinking":"t","signature":"s"}"#;
const R: &str = r#"{"type":"redacted_thinking","data":"r"}"#;

fn redacted() -> Part {
    Part::RedactedThinking("r".into())
}

#[test]
fn own_thoughts_are_rendered_first() {
    let (a, go_on) = (text_json("a"), user_json(&text_json(CONTINUE)));
    let own = |parts: &[Part]| by("anthropic", parts.to_vec());
    check_turn(own(&[thought("t", "s"), redacted(), text("a")]), &format!("{T},{R},{a}"), &go_on, &[]);
    check_turn(own(&[thought("t", "s"), text("a"), redacted(), text("a")]), &format!("{T},{a},{R},{a}"), &go_on, &[]);
    check_turn(
        own(&[text("a"), redacted(), thought("t", "s")]),
        &format!("{R},{T},{a}"),
        &go_on,
        &["1 part_order other_form"],
    );
    check_turn(
        own(&[thought("t", "s"), text("a"), thought("", "s"), redacted()]),
        &format!("{T},{a}"),
        &go_on,
        &["1 redacted_thinking nothing", "1 thinking nothing"],
    );
    check_turn(own(&[thought("t", "s")]), "", &go_on, &["1 thinking nothing"]);
}

#[test]
fn other_thoughts_are_lost() {
    let (a, go_on) = (text_json("a"), user_json(&text_json(CONTINUE)));
    let parts = || [thought("t", "s"), redacted(), text("a")];
    let both = ["1 thinking nothing", "1 redacted_thinking nothing"];
    check_turn(by("gemini", parts()), &a, &go_on, &both);
    check_turn(turn(Role::Assistant, parts()), &a, &go_on, &both);
    let unsigned = by("anthropic", [thought("t", ""), text("a")]);
    check_turn(unsigned, &a, &go_on, &["1 thinking nothing"]);
    let options = RenderOptions { thoughts: Thoughts::Omit, ..RenderOptions::default() };
    let opener = user_json(&text_json(OPENER));
    let body = messages(&format!("{opener},{},{go_on}", assistant_json(&a)));
    check_with(&turns([by("anthropic", parts())]), &options, &body, &both);
}

#[test]
fn a_turn_with_thoughts_is_not_merged_after_one_without() {
    let thinking = by("anthropic", [thought("t", "s"), text("b")]);
    let go_on = user_json(&text_json(CONTINUE));
    let body = format!(
        "{},{},{go_on},{},{go_on}",
        user_json(&text_json("hi")),
        assistant_json(&text_json("a")),
        assistant_json(&format!("{T},{},{T},{}", text_json("b"), text_json("b"))),
    );
    let case = [user("hi"), assistant("a"), thinking.clone(), thinking];
    check(&turns(case), &messages(&body), &[]);
}

#[test]
fn calls_are_last_and_results_first() {
    let turn = calling(
        by("anthropic", [thought("t", "s"), text("a")]),
        [
            call("c1", r#"{"b":1.0, "a":12345678901234567890123,"b":2}"#, document(r#"{"x": 1}"#)),
            failed(call("c2", " [1] ", ToolOutput::Parts(vec![text("no"), text(" ")]))),
            call("c3", "{}", ToolOutput::Parts(vec![text("")])),
        ],
    );
    let case = format!(
        r#"{T},{},{{"type":"tool_use","id":"c1","name":"search","input":{{"b":1.0, "a":12345678901234567890123,"b":2}}}},{{"type":"tool_use","id":"c2","name":"search","input":{{"input":[1]}}}},{{"type":"tool_use","id":"c3","name":"search","input":{{}}}}"#,
        text_json("a")
    );
    let results = user_json(
        r#"{"type":"tool_result","tool_use_id":"c1","content":"{\"x\": 1}"},{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"no"}],"is_error":true},{"type":"tool_result","tool_use_id":"c3"}"#,
    );
    check_turn(turn, &case, &results, &["3 input_form other_form"]);
}

#[test]
fn a9_a_result_with_is_error_has_text_only_and_some() {
    let found = r#"{"type":"search_result"}"#;
    let picture = || image("https://e.example/i.png");
    for (parts, content, losses) in [
        (vec![], format!("\"{FAILED}\""), &[][..]),
        (vec![text(" ")], format!("\"{FAILED}\""), &[]),
        (vec![picture(), text("no")], format!("[{},{}]", text_json("[image]"), text_json("no")), &["2 image text"]),
        (
            vec![file("data:text/plain;base64,YQ==", "a.txt")],
            format!("[{}]", text_json("[file: a.txt]")),
            &["2 file text"],
        ),
        (vec![item("anthropic", found)], format!("\"{FAILED}\""), &["2 provider_item nothing"]),
    ] {
        let returned = failed(call("c", "{}", ToolOutput::Parts(parts)));
        let case = calling(turn(Role::Assistant, []), [returned]);
        let called = r#"{"type":"tool_use","id":"c","name":"search","input":{}}"#;
        let result = format!(r#"{{"type":"tool_result","tool_use_id":"c","content":{content},"is_error":true}}"#);
        check_turn(case, called, &user_json(&result), losses);
    }
}

#[test]
fn ids_names_and_signatures_of_others() {
    let mut foreign = call("call:1", "{}", document("1"));
    foreign.called.tool_name = domain::ToolName::parse("files.read").unwrap();
    foreign.called.signature = Some("g".into());
    let rendered =
        crate::anthropic::render(&turns([calling(turn(Role::Assistant, []), [foreign])]), &RenderOptions::default());
    let (written, recorded) = rendered.names.calls().next().unwrap();
    assert_eq!(recorded, "call:1");
    let body = String::from_utf8(rendered.body.clone()).unwrap();
    assert!(body.contains(&format!(r#""id":"{written}""#)));
    assert!(body.contains(&format!(r#""tool_use_id":"{written}""#)));
    assert!(body.contains(r#""name":"files_read_"#));
    assert_eq!(describe_losses(&rendered), ["2 call_signature nothing"]);
}

#[test]
fn items_are_rendered_for_their_provider() {
    let (a, go_on) = (text_json("a"), user_json(&text_json(CONTINUE)));
    let search = r#"{"type":"server_tool_use", "id":"x","input":{"n":1.0}}"#;
    let marked = r#"{"type":"x","cache_control":{"type":"ephemeral"},"b":1.0}"#;
    check_turn(
        by("anthropic", [item("anthropic", search), text("a"), item("anthropic", marked)]),
        &format!(r#"{search},{a},{{"type":"x","b":1.0}}"#),
        &go_on,
        &[],
    );
    for (provider, lost) in [
        ("openai", r#"{"type":"reasoning"}"#),
        ("anthropic", r#"{"type":"tool_use","id":"x"}"#),
        ("anthropic", r#"{"a":1}"#),
        ("anthropic", "1"),
    ] {
        let case = turn(Role::Assistant, [text("a"), item(provider, lost)]);
        check_turn(case, &a, &go_on, &["1 provider_item nothing"]);
    }
}

#[test]
fn items_are_rendered_only_where_the_provider_accepts_them() {
    let (search, found) = (r#"{"type":"server_tool_use"}"#, r#"{"type":"search_result"}"#);
    for (role, items, kept) in [(Role::User, [search, found], found), (Role::Assistant, [search, found], search)] {
        let case = turn(role, items.map(|text| item("anthropic", text)));
        let rendered = crate::anthropic::render(&turns([case]), &RenderOptions::default());
        let body = String::from_utf8(rendered.body.clone()).unwrap();
        assert!(body.contains(&format!(r#""content":[{kept}]"#)), "{body}");
        assert_eq!(describe_losses(&rendered), ["1 provider_item nothing"]);
    }
    let items = [search, found].map(|text| item("anthropic", text));
    let case = calling(turn(Role::Assistant, []), [call("c", "{}", ToolOutput::Parts(items.to_vec()))]);
    let call = r#"{"type":"tool_use","id":"c","name":"search","input":{}}"#;
    let result = format!(r#"{{"type":"tool_result","tool_use_id":"c","content":[{found}]}}"#);
    check_turn(case, call, &user_json(&result), &["2 provider_item nothing"]);
}

#[test]
fn citations_are_rendered_with_their_text() {
    let (a, go_on) = (text_json("a"), user_json(&text_json(CONTINUE)));
    let cited = r#"{"type":"text","text":"a","citations":[{"type":"c"}]}"#;
    let citations = || item("anthropic", r#"[{"type":"c"}]"#);
    let case = turn(Role::Assistant, [text("a"), citations()]);
    check_turn(case, cited, &go_on, &[]);
    let lost = ["1 provider_item nothing"];
    let case = turn(Role::Assistant, [text("a"), text(" "), citations()]);
    check_turn(case, &a, &go_on, &lost);
    let case = turn(Role::Assistant, [text("a"), item("anthropic", "[]")]);
    check_turn(case, &a, &go_on, &lost);
    let case = turn(Role::Assistant, [text("a"), item("openai", "[{}]")]);
    check_turn(case, &a, &go_on, &lost);
    let case = turn(Role::Assistant, [citations(), text("a"), item("anthropic", "[1]")]);
    check_turn(case, &a, &go_on, &[lost[0], lost[0]]);
}

#[test]
fn media_are_rendered_in_user_messages_and_results() {
    let url = "https://e.example/i.png";
    let native = format!(r#"{{"type":"image","source":{{"type":"url","url":"{url}"}}}}"#);
    let pdf = r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="},"title":"a.pdf"}"#;
    let paper = || file("data:application/pdf;base64,JVBERg==", "a.pdf");
    let shown = turn(Role::User, [image(url), paper(), file("https://e.example/z", "z.zip")]);
    check(
        &turns([shown]),
        &messages(&user_json(&format!("{native},{pdf},{}", text_json("[file: z.zip]")))),
        &["1 file text"],
    );
    let case = calling(
        turn(Role::Assistant, [image(url)]),
        [call("c", "{}", ToolOutput::Parts(vec![image(url), thought("t", "")]))],
    );
    let blocks = format!(r#"{},{{"type":"tool_use","id":"c","name":"search","input":{{}}}}"#, text_json("[image]"));
    let result = format!(r#"{{"type":"tool_result","tool_use_id":"c","content":[{native}]}}"#);
    check_turn(case, &blocks, &user_json(&result), &["1 image text", "2 thinking nothing"]);
}

#[test]
fn refusals_and_details() {
    let refusal = turn(Role::Assistant, [Part::Refusal("no".into()), Part::Refusal(" ".into())]);
    let go_on = user_json(&text_json(CONTINUE));
    check_turn(refusal, &text_json("no"), &go_on, &["1 refusal text"]);
    let Part::Image { source, .. } = image("gs://b/i") else {
        return;
    };
    let close = Part::Image { source, media_type: Some(label("image/png")), detail: Some(label("high")) };
    check(
        &turns([turn(Role::User, [close])]),
        &messages(&user_json(&text_json("[image: image/png]"))),
        &["1 image_detail nothing", "1 image text"],
    );
}
