//! The list of messages: roles, instructions, breakpoints (A1, A4, A6).

use context::Transcript;
use domain::event::Role;

use super::notation::*;
use crate::anthropic::{CONTINUE, OPENER, render};
use crate::options::RenderOptions;

#[test]
fn the_user_has_the_first_and_the_last_message() {
    let hi = user_json(&text_json("hi"));
    let ho = assistant_json(&text_json("ho"));
    let (opener, go_on) = (user_json(&text_json(OPENER)), user_json(&text_json(CONTINUE)));
    check(&turns([]), &messages(&go_on), &[]);
    check(&turns([user("hi")]), &messages(&hi), &[]);
    check(&turns([assistant("ho"), user("hi")]), &messages(&format!("{opener},{ho},{hi}")), &[]);
    check(&turns([user("hi"), assistant("ho")]), &messages(&format!("{hi},{ho},{go_on}")), &[]);
}

#[test]
fn adjacent_messages_are_merged_and_nothing_is_empty() {
    let both = format!("{},{}", text_json("a"), text_json("b"));
    let (users, assistants) = (user_json(&both), assistant_json(&both));
    check(
        &turns([
            user("a"),
            turn(Role::User, [text(""), text(" \n\t"), text("b")]),
            turn(Role::Assistant, [text("")]),
            turn(Role::User, []),
        ]),
        &messages(&users),
        &[],
    );
    check(
        &turns([user("a"), assistant("a"), user(" "), assistant("b"), user("a")]),
        &messages(&format!("{},{assistants},{}", user_json(&text_json("a")), user_json(&text_json("a")))),
        &[],
    );
}

#[test]
fn instructions_are_in_system_or_user_messages_with_a_prefix() {
    check(
        &turns([
            turn(Role::System, [text("a"), image("https://e.example/i")]),
            turn(Role::Developer, [text("b")]),
            user("hi"),
            turn(Role::Developer, [text("c")]),
        ]),
        r#"{"system":[{"type":"text","text":"a"},{"type":"text","text":"[image]"},{"type":"text","text":"b"}],"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"[Instructions] c"}]}]}"#,
        &["1 image text", "31 instructions_place other_form"],
    );
}

#[test]
fn names_of_authors_are_lost() {
    let mut named = user("hi");
    named.author = Some(label("jo"));
    check(&turns([named]), &messages(&user_json(&text_json("hi"))), &["1 author nothing"]);
}

#[test]
fn requests_have_up_to_three_breakpoints() {
    let whole = Transcript {
        instructions: vec!["a".into(), "b".into()],
        opening: Some("before".into()),
        closing: Some("now".into()),
        ..turns([user("hi"), assistant("ho"), user("c")])
    };
    let marks = marked(&whole);
    assert_eq!(marks, ["b", "before", "c"]);
    let bare = Transcript { closing: Some("now".into()), ..turns([]) };
    assert_eq!(marked(&bare), [""; 0]);
    let opened = Transcript { opening: Some("before".into()), ..turns([]) };
    assert_eq!(marked(&opened), ["before"]);
    let items = turns([turn(
        Role::User,
        [text("a"), item("anthropic", r#"{"type":"search_result","cache_control":{"type":"ephemeral"},"title":"t"}"#)],
    )]);
    assert_eq!(marked(&items), ["a"]);
    assert_eq!(marked(&turns([user("hi"), assistant("ho")])), ["ho"]);
}

/// The texts of the blocks with a breakpoint.
fn marked(transcript: &Transcript) -> Vec<String> {
    let options = RenderOptions { cache_key: Some("key".into()), ..RenderOptions::default() };
    let rendered = render(transcript, &options);
    let body: serde_json::Value = serde_json::from_slice(&rendered.body).unwrap();
    let system = body["system"].as_array().into_iter().flatten();
    let messages = body["messages"].as_array().into_iter().flatten();
    let content = messages.flat_map(|message| message["content"].as_array().unwrap());
    let marked = system.chain(content).filter(|block| block["cache_control"]["type"] == "ephemeral");
    marked.map(|block| block["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_new_turn_only_appends() {
    let all = [
        assistant("a"),
        by("anthropic", [thought("t", "s"), text("b")]),
        calling(by("anthropic", [thought("u", "s")]), [call("c", "{}", document("1"))]),
        user("d"),
        turn(Role::System, [text("e")]),
        calling(assistant("f"), [call("c", "{}", document("1"))]),
        user("g"),
    ];
    let mut shorter = String::new();
    for count in 1..=all.len() {
        let rendered = render(&turns(all[..count].to_vec()), &RenderOptions::default());
        let body = String::from_utf8(rendered.body).unwrap();
        let go_on = format!(",{}", user_json(&text_json(CONTINUE)));
        let open = body.trim_end_matches("]}");
        let open = open.strip_suffix(go_on.trim_end_matches("]}")).unwrap_or(open).trim_end_matches("]}").to_owned();
        assert!(open.starts_with(&shorter), "{shorter}\n{open}");
        shorter = open;
    }
}
