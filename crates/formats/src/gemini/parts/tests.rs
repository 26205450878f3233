use context::{Transcript, Turn};
use domain::event::{Role, ToolOutput};
use domain::{MediaSource, Part};

use super::super::render;
use crate::RenderOptions;
use crate::tests::gemini::{call, foreign, item, label, losses, own, thought, turn, user};

#[test]
fn losses_are_ordered_by_version() {
    let picture = |media_type: Option<&str>| Part::Image {
        source: MediaSource::Url("https://example.org/a.png".to_owned()),
        media_type: media_type.map(label),
        detail: Some(label("high")),
    };
    let file = |id: &str| Part::File {
        source: MediaSource::FileId(id.to_owned()),
        media_type: Some(label("text/csv")),
        filename: Some(label("a.csv")),
    };
    check_losses(foreign(1, vec![thought("hm", Some("s"))], vec![]), "1 thinking nothing");
    check_losses(own(1, vec![thought("", Some("s"))], vec![]), "1 thinking nothing");
    check_losses(own(1, vec![thought("hm", Some("s"))], vec![]), "");
    check_losses(own(1, vec![Part::RedactedThinking("x".to_owned())], vec![]), "1 redacted_thinking nothing");
    check_losses(own(1, vec![Part::Refusal("no".to_owned())], vec![]), "1 refusal text");
    check_losses(turn(1, Role::User, vec![picture(None)]), "1 image text");
    check_losses(turn(1, Role::User, vec![picture(Some("image/png"))]), "1 image_detail nothing");
    check_losses(turn(1, Role::User, vec![file("file-1")]), "1 file text");
    check_losses(turn(1, Role::User, vec![file("files/1")]), "1 file other_form");
    check_losses(own(1, vec![item("openai", r#"{"a":1}"#)], vec![]), "1 provider_item nothing");
    check_losses(own(1, vec![], vec![call(2, "a", "[1]", None)]), "2 input_form other_form");
    let mut signed = call(2, "a", "{}", Some("s"));
    signed.called.provider = None;
    signed.answer.output = ToolOutput::Parts(vec![picture(None), thought("", None)]);
    check_losses(own(1, vec![], vec![signed]), "2 call_signature nothing, 2 image text, 2 thinking nothing");
    let named = Turn { author: Some(label("Ann")), ..user(1, "hi") };
    check_losses(named, "1 author nothing");
}

#[test]
fn items_with_calls_or_without_content_are_lost() {
    for json in [
        r#"{"functionCall":{}}"#,
        r#"{"function_response":{}}"#,
        r#"{"text":"", "thought_signature":"s"}"#,
        r#"{"functionCall":{},"executableCode":{}}"#,
        r#"{"executableCode":{},"codeExecutionResult":{}}"#,
        r#"{"other":1}"#,
        "{}",
        "1",
    ] {
        check_losses(own(1, vec![item("gemini", json)], vec![]), "1 provider_item nothing");
    }
}

#[track_caller]
fn check_losses(turn: Turn, expected: &str) {
    let transcript = Transcript { turns: vec![user(0, "go"), turn], ..Transcript::default() };
    let rendered = render(&transcript, &RenderOptions::default());
    assert_eq!(losses(&rendered), expected);
}
