//! Parses the JSON of the canonical format into a context.

use std::borrow::Cow;

use context::{Answer, AnswerOrigin, AnsweredCall, Transcript, Turn};
use domain::event::{ToolCalled, ToolOutput};
use domain::{CallId, JsonText, Label, MediaSource, Part, ToolName, Version, Violation};

use super::json;
use crate::reply::ParseError;

/// Parses a context that [`super::render()`] wrote.
///
/// # Errors
/// [`ParseError::Malformed`] or [`ParseError::Unusable`].
pub fn parse(body: &[u8]) -> Result<Transcript, ParseError> {
    let context: json::Context<'_> = serde_json::from_slice(body).map_err(|error| ParseError::Malformed {
        format: "canonical",
        reason: format!("{:?} at line {} column {}", error.classify(), error.line(), error.column()),
    })?;
    let turns = context
        .turns
        .into_iter()
        .enumerate()
        .map(|(index, read)| turn(read).map_err(|violation| unusable(violation.at(index).within("turns"))));
    Ok(Transcript {
        instructions: context.instructions.into_iter().map(Cow::into_owned).collect(),
        opening: context.opening.map(Cow::into_owned),
        turns: turns.collect::<Result<_, _>>()?,
        closing: context.closing.map(Cow::into_owned),
    })
}

fn unusable(violation: Violation) -> ParseError {
    ParseError::Unusable { field: violation.field, reason: violation.description }
}

fn turn(turn: json::Turn<'_>) -> Result<Turn, Violation> {
    Ok(Turn {
        version: Version(turn.version),
        role: turn.role,
        parts: parts(turn.parts)?,
        author: label(turn.author, "author")?,
        provider: label(turn.provider, "provider")?,
        written: context::Written::BehindThis,
        calls: turn.calls.into_iter().map(call).collect::<Result<_, _>>()?,
    })
}

fn call(call: json::Call<'_>) -> Result<AnsweredCall, Violation> {
    let called = ToolCalled {
        call_id: CallId::parse(call.id).map_err(|violation| violation.within("call_id"))?,
        tool_name: ToolName::parse(call.tool_name).map_err(|violation| violation.within("tool_name"))?,
        input: json_text(call.input.get(), "input")?,
        model: None,
        provider: label(call.provider, "provider")?,
        provider_response_id: None,
        signature: call.signature.map(Cow::into_owned),
    };
    Ok(AnsweredCall { version: Version(call.version), called, answer: answer(call.result)? })
}

fn answer(result: json::CallResult<'_>) -> Result<Answer, Violation> {
    let version = Version(result.version.unwrap_or_default());
    let output = match result.output {
        Some(output) => ToolOutput::Json(json_text(output.get(), "output")?),
        None => ToolOutput::Parts(parts(result.parts.unwrap_or_default())?),
    };
    Ok(Answer {
        output,
        outcome: result.outcome,
        origin: match result.origin {
            json::Origin::Recorded => AnswerOrigin::Recorded(version),
            json::Origin::Cleared => AnswerOrigin::Cleared(version),
            json::Origin::Pending => AnswerOrigin::Pending,
            json::Origin::Interrupted => AnswerOrigin::Interrupted,
        },
    })
}

fn parts(parts: Vec<json::Part<'_>>) -> Result<Vec<Part>, Violation> {
    parts.into_iter().map(part).collect()
}

fn part(part: json::Part<'_>) -> Result<Part, Violation> {
    Ok(match part {
        json::Part::Text { text } => Part::Text(text.into_owned()),
        json::Part::Image { source, media_type, detail } => Part::Image {
            source: media_source(source),
            media_type: label(media_type, "media_type")?,
            detail: label(detail, "detail")?,
        },
        json::Part::File { source, media_type, filename } => Part::File {
            source: media_source(source),
            media_type: label(media_type, "media_type")?,
            filename: label(filename, "filename")?,
        },
        json::Part::Thinking { text, signature } => {
            Part::Thinking { text: text.into_owned(), signature: signature.map(Cow::into_owned) }
        }
        json::Part::RedactedThinking { data } => Part::RedactedThinking(data.into_owned()),
        json::Part::Refusal { text } => Part::Refusal(text.into_owned()),
        json::Part::ProviderItem { provider, item_json } => Part::ProviderItem {
            provider: Label::parse(provider).map_err(|violation| violation.within("provider"))?,
            item: json_text(&item_json, "item_json")?,
        },
    })
}

fn media_source(source: json::Source<'_>) -> MediaSource {
    match source {
        json::Source::Url(url) => MediaSource::Url(url.into_owned()),
        json::Source::FileId(id) => MediaSource::FileId(id.into_owned()),
    }
}

fn label(text: Option<Cow<'_, str>>, field: &str) -> Result<Option<Label>, Violation> {
    text.map(Label::parse).transpose().map_err(|violation| violation.within(field))
}

fn json_text(text: &str, field: &str) -> Result<JsonText, Violation> {
    JsonText::parse(text).map_err(|violation| violation.within(field))
}
