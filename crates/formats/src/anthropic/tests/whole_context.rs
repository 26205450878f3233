//! A whole context as a readable snapshot.

use context::Transcript;
use domain::event::{Role, ToolOutput};

use super::notation::*;
use crate::anthropic::render;
use crate::options::RenderOptions;

#[test]
fn a_conversation_with_everything() {
    let searching = calling(
        by("anthropic", [thought("I should look.", "sig-1"), text("One moment.")]),
        [
            call("toolu_1", r#"{"q": "rust 1.95"}"#, document(r#"{"hits": 2}"#)),
            failed(call("toolu_2", r#""plain""#, ToolOutput::Parts(vec![text("bad input")]))),
        ],
    );
    let transcript = Transcript {
        instructions: vec!["You are terse.".into(), "Answer in English.".into()],
        opening: Some("Earlier: the user asked about releases.".into()),
        closing: Some("Page: /downloads".into()),
        ..turns([
            user("What is new?"),
            searching,
            turn(Role::System, [text("Be brief.")]),
            assistant("Two things."),
            user("Which?"),
        ])
    };
    let options = RenderOptions { cache_key: Some("conversation-7".into()), ..RenderOptions::default() };
    let rendered = render(&transcript, &options);
    let body = String::from_utf8(rendered.body.clone()).unwrap();
    let shown = body.replace("},{", "},\n{").replace("[{", "[\n{");
    insta::assert_snapshot!(format!("{shown}\n\nlosses: {:?}", describe_losses(&rendered)));
}
