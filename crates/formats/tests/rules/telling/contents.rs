//! Content that only some providers support: media, thoughts, refusals, provider items, ids and names.

use context::Transcript;
use domain::event::{Role, ToolOutput};
use domain::{JsonText, Label, MediaSource, Part};

use super::notation::{by, call, calls, text, transcript, turn, user, weather};

pub(super) fn pictures_and_files() -> Transcript {
    let label = |text: &str| Label::parse(text).ok();
    let image = |source: MediaSource| Part::Image {
        source,
        media_type: Label::parse("image/png").ok(),
        detail: Label::parse("low").ok(),
    };
    let file = |source: MediaSource| Part::File {
        source,
        media_type: label("application/pdf"),
        filename: label("ticket.pdf"),
    };
    let url = |url: &str| MediaSource::Url(url.to_owned());
    let said = vec![
        text("What is on these?"),
        image(url("https://example.org/beach.png")),
        image(url("data:image/png;base64,iVBORw0KGgo=")),
        image(MediaSource::FileId("file_picture".to_owned())),
        file(url("https://example.org/ticket.pdf")),
        file(url("data:application/pdf;base64,JVBERi0=")),
        file(MediaSource::FileId("file_ticket".to_owned())),
    ];
    let mut map = call("call_1", "map", "{}", "null");
    map.answer.output = ToolOutput::Parts(vec![text("a map"), image(url("https://example.org/map.png"))]);
    transcript(vec![
        turn(Role::User, said),
        calls(turn(Role::Assistant, Vec::new()), vec![map]),
        turn(Role::Assistant, vec![text("A beach:"), image(url("https://example.org/drawn.png"))]),
        user("Nice."),
    ])
}

fn thought(text: &str, signature: &str) -> Part {
    Part::Thinking { text: text.to_owned(), signature: Some(signature.to_owned()) }
}

pub(super) fn thoughts_of_anthropic() -> Transcript {
    let thinking = vec![
        thought("The user wants warmth.", "c2lnbmVkIGJ5IGFudGhyb3BpYw=="),
        Part::RedactedThinking("ZW5jcnlwdGVkIHRob3VnaHQ=".to_owned()),
        text("Let me look."),
    ];
    let unsigned = vec![Part::Thinking { text: "Warm enough.".to_owned(), signature: None }, text("17 °C.")];
    transcript(vec![
        user("Lisbon?"),
        by("anthropic", calls(turn(Role::Assistant, thinking), vec![weather("toolu_01A", "Lisbon", "17")])),
        by("anthropic", turn(Role::Assistant, unsigned)),
        user("Thanks!"),
    ])
}

pub(super) fn signatures_of_gemini() -> Transcript {
    let mut signed = weather("call_1", "Lisbon", "17");
    signed.called.signature = Some("c2lnbmVkIGJ5IGdlbWluaQ==".to_owned());
    let first = calls(turn(Role::Assistant, Vec::new()), vec![signed, weather("call_2", "Porto", "15")]);
    transcript(vec![
        user("Lisbon or Porto?"),
        by("gemini", first),
        by("gemini", turn(Role::Assistant, vec![thought("Lisbon it is.", "dGhvdWdodA=="), text("Lisbon.")])),
        user("And Faro?"),
        by("openai", calls(turn(Role::Assistant, Vec::new()), vec![weather("call_3", "Faro", "19")])),
    ])
}

pub(super) fn reasoning_of_openai() -> Transcript {
    let item = |item: &str| Part::ProviderItem {
        provider: Label::parse("openai").unwrap(),
        item: JsonText::parse(item).unwrap(),
    };
    let reasoning = "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"b3BhcXVl\"}";
    let lone = "{\"type\":\"reasoning\",\"id\":\"rs_2\",\"summary\":[]}";
    transcript(vec![
        user("Lisbon?"),
        by("openai", calls(turn(Role::Assistant, vec![item(reasoning)]), vec![weather("call_1", "Lisbon", "17")])),
        by("openai", turn(Role::Assistant, vec![text("17 °C."), item(lone)])),
        user("Thanks!"),
    ])
}

pub(super) fn foreign_ids_and_names() -> Transcript {
    let foreign = vec![
        call("functions.read:0", "mcp.files/read", "{\"path\":\"plan.md\"}", "\"a week\""),
        call(&"x".repeat(64), "größe", "{}", "null"),
    ];
    transcript(vec![user("What is in my plan?"), calls(turn(Role::Assistant, Vec::new()), foreign)])
}

pub(super) fn repeated_call_ids() -> Transcript {
    let step =
        |city: &str, degrees: &str| calls(turn(Role::Assistant, Vec::new()), vec![weather("call_0", city, degrees)]);
    transcript(vec![user("Lisbon, then Porto."), step("Lisbon", "17"), step("Porto", "15"), user("Thanks!")])
}

pub(super) fn refusal() -> Transcript {
    let refused = Part::Refusal("I cannot forge a passport.".to_owned());
    transcript(vec![user("Forge a passport."), turn(Role::Assistant, vec![refused]), user("A visa, then?")])
}

pub(super) fn input_that_is_no_object() -> Transcript {
    let odd = vec![
        call("call_1", "sum", "[1, 2.50, 12345678901234567890123]", "{\"b\":2,\"a\":1.0}"),
        call("call_2", "echo", "\"said\"", "\"said\""),
    ];
    transcript(vec![user("Add these."), calls(turn(Role::Assistant, Vec::new()), odd)])
}

pub(super) fn blanks_and_gaps() -> Transcript {
    let image = Part::Image { source: MediaSource::Url(String::new()), media_type: None, detail: None };
    let file = Part::File { source: MediaSource::FileId(String::new()), media_type: None, filename: None };
    let empty = call("call_1", "forget", "{}", "null");
    let blank = Part::Thinking { text: String::new(), signature: None };
    let mut transcript = transcript(vec![
        turn(Role::System, vec![text(" ")]),
        turn(Role::User, vec![text(""), image, file]),
        calls(turn(Role::Assistant, vec![blank, text("\n")]), vec![empty]),
        turn(Role::User, Vec::new()),
    ]);
    transcript.instructions.clear();
    transcript
}
