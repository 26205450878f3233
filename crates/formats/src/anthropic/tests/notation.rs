//! Builders of turns, parts and calls, and checks.

use context::{Answer, AnswerOrigin, AnsweredCall, Transcript, Turn};
use domain::event::{Role, ToolCalled, ToolOutcome, ToolOutput};
use domain::{CallId, JsonText, Label, MediaSource, Part, ToolName, Version};

use crate::anthropic::render;
use crate::options::RenderOptions;
use crate::rendered::Rendered;

/// The turns, with versions 1, 11, 21, ….
pub(super) fn turns(turns: impl IntoIterator<Item = Turn>) -> Transcript {
    let turns = (0_u64..).zip(turns).map(|(index, mut turn)| {
        turn.version = Version(10 * index + 1);
        for (offset, call) in (1..).zip(&mut turn.calls) {
            call.version = Version(turn.version.0 + offset);
        }
        turn
    });
    Transcript { turns: turns.collect(), ..Transcript::default() }
}

pub(super) fn turn(role: Role, parts: impl IntoIterator<Item = Part>) -> Turn {
    Turn {
        version: Version(0),
        role,
        parts: parts.into_iter().collect(),
        author: None,
        provider: None,
        written: context::Written::BehindThis,
        calls: vec![],
    }
}

pub(super) fn user(said: &str) -> Turn {
    turn(Role::User, [text(said)])
}

pub(super) fn assistant(said: &str) -> Turn {
    turn(Role::Assistant, [text(said)])
}

/// An assistant turn of a provider.
pub(super) fn by(provider: &str, parts: impl IntoIterator<Item = Part>) -> Turn {
    Turn { provider: Some(label(provider)), ..turn(Role::Assistant, parts) }
}

pub(super) fn calling(turn: Turn, calls: impl IntoIterator<Item = AnsweredCall>) -> Turn {
    Turn { calls: calls.into_iter().collect(), ..turn }
}

/// A call of `search` and its answer.
pub(super) fn call(id: &str, input: &str, output: ToolOutput) -> AnsweredCall {
    AnsweredCall {
        version: Version(0),
        called: ToolCalled {
            call_id: CallId::parse(id).unwrap(),
            tool_name: ToolName::parse("search").unwrap(),
            input: json(input),
            model: None,
            provider: None,
            provider_response_id: None,
            signature: None,
        },
        answer: Answer { output, outcome: ToolOutcome::Succeeded, origin: AnswerOrigin::Recorded(Version(0)) },
    }
}

pub(super) fn failed(mut call: AnsweredCall) -> AnsweredCall {
    call.answer.outcome = ToolOutcome::Failed;
    call
}

pub(super) fn document(text: &str) -> ToolOutput {
    ToolOutput::Json(json(text))
}

pub(super) fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

pub(super) fn thought(text: &str, signature: &str) -> Part {
    Part::Thinking { text: text.to_owned(), signature: (!signature.is_empty()).then(|| signature.to_owned()) }
}

pub(super) fn item(provider: &str, text: &str) -> Part {
    Part::ProviderItem { provider: label(provider), item: json(text) }
}

pub(super) fn image(url: &str) -> Part {
    Part::Image { source: MediaSource::Url(url.to_owned()), media_type: None, detail: None }
}

pub(super) fn file(url: &str, filename: &str) -> Part {
    Part::File { source: MediaSource::Url(url.to_owned()), media_type: None, filename: Some(label(filename)) }
}

pub(super) fn json(text: &str) -> JsonText {
    JsonText::parse(text).unwrap()
}

pub(super) fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

/// Checks the body, and the losses as `version lost replacement`.
pub(super) fn check(transcript: &Transcript, body: &str, losses: &[&str]) {
    check_with(transcript, &RenderOptions::default(), body, losses);
}

pub(super) fn check_with(transcript: &Transcript, options: &RenderOptions, body: &str, losses: &[&str]) {
    let rendered = render(transcript, options);
    assert_eq!(str::from_utf8(&rendered.body).unwrap(), body);
    assert_eq!(describe_losses(&rendered), losses);
}

pub(super) fn describe_losses(rendered: &Rendered) -> Vec<String> {
    let losses = rendered.losses.iter();
    losses
        .map(|loss| {
            let (lost, replacement) = (loss.lost.as_str(), loss.replacement.as_str());
            format!("{} {lost} {replacement}", loss.version)
        })
        .collect()
}

/// A body with these messages.
pub(super) fn messages(messages: &str) -> String {
    format!(r#"{{"messages":[{messages}]}}"#)
}

/// A user message with these blocks.
pub(super) fn user_json(blocks: &str) -> String {
    format!(r#"{{"role":"user","content":[{blocks}]}}"#)
}

/// An assistant message with these blocks.
pub(super) fn assistant_json(blocks: &str) -> String {
    format!(r#"{{"role":"assistant","content":[{blocks}]}}"#)
}

pub(super) fn text_json(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}
