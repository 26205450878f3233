//! Short ways to say turns, parts and calls.

use context::{Answer, AnswerOrigin, AnsweredCall, Transcript, Turn};
use domain::event::{Role, ToolCalled, ToolOutcome, ToolOutput};
use domain::{CallId, JsonText, Label, MediaSource, Part, ToolName, Version};

use crate::anthropic::render;
use crate::options::RenderOptions;
use crate::rendered::Rendered;

/// The turns, by version from 1 on, ten apart.
pub(super) fn turns(turns: impl IntoIterator<Item = Turn>) -> Transcript {
    let turns = (0_u64..).zip(turns).map(|(index, mut turn)| {
        turn.version = Version(10 * index + 1);
        for (offset, call) in (1..).zip(&mut turn.calls) {
            call.version = Version(turn.version.0 + offset);
        }
        turn
    });
    Transcript {
        turns: turns.collect(),
        ..Transcript::default()
    }
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

/// A turn of the assistant by a model of this provider.
pub(super) fn by(provider: &str, parts: impl IntoIterator<Item = Part>) -> Turn {
    Turn {
        provider: Some(label(provider)),
        ..turn(Role::Assistant, parts)
    }
}

pub(super) fn calling(turn: Turn, calls: impl IntoIterator<Item = AnsweredCall>) -> Turn {
    Turn {
        calls: calls.into_iter().collect(),
        ..turn
    }
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
        answer: Answer {
            output,
            outcome: ToolOutcome::Succeeded,
            origin: AnswerOrigin::Recorded(Version(0)),
        },
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
    Part::Thinking {
        text: text.to_owned(),
        signature: (!signature.is_empty()).then(|| signature.to_owned()),
    }
}

pub(super) fn item(provider: &str, text: &str) -> Part {
    Part::ProviderItem {
        provider: label(provider),
        item: json(text),
    }
}

pub(super) fn image(url: &str) -> Part {
    Part::Image {
        source: MediaSource::Url(url.to_owned()),
        media_type: None,
        detail: None,
    }
}

pub(super) fn file(url: &str, filename: &str) -> Part {
    Part::File {
        source: MediaSource::Url(url.to_owned()),
        media_type: None,
        filename: Some(label(filename)),
    }
}

pub(super) fn json(text: &str) -> JsonText {
    JsonText::parse(text).unwrap()
}

pub(super) fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

/// Checks the body, and the losses as `version lost became`.
pub(super) fn check(transcript: &Transcript, body: &str, losses: &[&str]) {
    check_with(transcript, &RenderOptions::default(), body, losses);
}

pub(super) fn check_with(
    transcript: &Transcript,
    options: &RenderOptions,
    body: &str,
    losses: &[&str],
) {
    let rendered = render(transcript, options);
    assert_eq!(str::from_utf8(&rendered.body).unwrap(), body);
    assert_eq!(told(&rendered), losses);
}

pub(super) fn told(rendered: &Rendered) -> Vec<String> {
    let losses = rendered.losses.iter();
    losses
        .map(|loss| {
            let (lost, became) = (loss.lost.as_str(), loss.became.as_str());
            format!("{} {lost} {became}", loss.version)
        })
        .collect()
}

/// A body with these messages alone.
pub(super) fn messages(messages: &str) -> String {
    format!(r#"{{"messages":[{messages}]}}"#)
}

/// A user's message with these blocks.
pub(super) fn user_json(blocks: &str) -> String {
    format!(r#"{{"role":"user","content":[{blocks}]}}"#)
}

/// An assistant's message with these blocks.
pub(super) fn assistant_json(blocks: &str) -> String {
    format!(r#"{{"role":"assistant","content":[{blocks}]}}"#)
}

pub(super) fn text_json(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}
