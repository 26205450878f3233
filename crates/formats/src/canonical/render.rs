//! Renders a context as the JSON of the canonical format.

use std::borrow::Cow;

use context::{Answer, AnswerOrigin, AnsweredCall, Transcript, Turn};
use domain::event::ToolOutput;
use domain::{JsonText, MediaSource, Part};
use serde_json::value::RawValue;

use super::json;
use crate::outline::{Layout, Section};
use crate::rendered::{Notes, Rendered};

const LAYOUT: Layout = Layout {
    list: "turns",
    parts: None,
    fields: &[("instructions", Section::Instructions), ("opening", Section::Opening), ("closing", Section::Closing)],
};

/// Renders a context without losses and with the recorded names.
#[must_use]
pub fn render(transcript: &Transcript) -> Rendered {
    let context = json::Context {
        instructions: transcript.instructions.iter().map(Into::into).collect(),
        opening: transcript.opening.as_deref().map(Cow::from),
        turns: transcript.turns.iter().map(turn).collect(),
        closing: transcript.closing.as_deref().map(Cow::from),
    };
    let mut notes = Notes::default();
    for (messages, turn) in (1..).zip(&transcript.turns) {
        notes.end_section(Section::Turn(turn.version), messages, 0);
    }
    notes.rendered(&context, &LAYOUT)
}

fn turn(turn: &Turn) -> json::Turn<'_> {
    json::Turn {
        version: turn.version.0,
        role: turn.role,
        author: turn.author.as_ref().map(|label| label.as_str().into()),
        provider: turn.provider.as_ref().map(|label| label.as_str().into()),
        parts: turn.parts.iter().map(part).collect(),
        calls: turn.calls.iter().map(call).collect(),
    }
}

fn call(call: &AnsweredCall) -> json::Call<'_> {
    let called = &call.called;
    json::Call {
        version: call.version.0,
        id: called.call_id.as_str().into(),
        tool_name: called.tool_name.as_str().into(),
        provider: called.provider.as_ref().map(|label| label.as_str().into()),
        signature: called.signature.as_deref().map(Cow::from),
        input: verbatim(&called.input),
        result: result(&call.answer),
    }
}

fn result(answer: &Answer) -> json::CallResult<'_> {
    let (origin, version) = match answer.origin {
        AnswerOrigin::Recorded(version) => (json::Origin::Recorded, Some(version.0)),
        AnswerOrigin::Cleared(version) => (json::Origin::Cleared, Some(version.0)),
        AnswerOrigin::Pending => (json::Origin::Pending, None),
        AnswerOrigin::Interrupted => (json::Origin::Interrupted, None),
    };
    let (output, parts) = match &answer.output {
        ToolOutput::Json(output) => (Some(verbatim(output)), None),
        ToolOutput::Parts(parts) => (None, Some(parts.iter().map(part).collect())),
    };
    json::CallResult { origin, version, outcome: answer.outcome, output, parts }
}

fn part(part: &Part) -> json::Part<'_> {
    match part {
        Part::Text(text) => json::Part::Text { text: text.into() },
        Part::Image { source, media_type, detail } => json::Part::Image {
            source: media_source(source),
            media_type: media_type.as_ref().map(|label| label.as_str().into()),
            detail: detail.as_ref().map(|label| label.as_str().into()),
        },
        Part::File { source, media_type, filename } => json::Part::File {
            source: media_source(source),
            media_type: media_type.as_ref().map(|label| label.as_str().into()),
            filename: filename.as_ref().map(|label| label.as_str().into()),
        },
        Part::Thinking { text, signature } => {
            json::Part::Thinking { text: text.into(), signature: signature.as_deref().map(Cow::from) }
        }
        Part::RedactedThinking(data) => json::Part::RedactedThinking { data: data.into() },
        Part::Refusal(text) => json::Part::Refusal { text: text.into() },
        Part::ProviderItem { provider, item } => {
            json::Part::ProviderItem { provider: provider.as_str().into(), item_json: item.as_str().into() }
        }
    }
}

fn media_source(source: &MediaSource) -> json::Source<'_> {
    match source {
        MediaSource::Url(url) => json::Source::Url(url.into()),
        MediaSource::FileId(id) => json::Source::FileId(id.into()),
    }
}

/// The raw JSON of a text; `null` if it is not JSON.
fn verbatim(text: &JsonText) -> Box<RawValue> {
    RawValue::from_string(text.as_str().to_owned()).unwrap_or_default()
}
