//! Parses blocks into parts, calls and results. A block without a canonical form becomes a provider item, verbatim.

use domain::event::{ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
use domain::{JsonText, Label, MediaSource, Part, ToolName};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::reply::ParseError;
use crate::values;

use super::errors::{provider, read};
use super::media::{PDF, data_url, text_url};
use super::turn::FAILED;

/// The contents of the blocks of one message.
#[derive(Debug, Default)]
pub(super) struct MessageContent {
    pub(super) parts: Vec<Part>,
    pub(super) calls: Vec<ToolCalled>,
    pub(super) results: Vec<ToolReturned>,
}

/// Parses the content of a message: a text, or blocks.
pub(super) fn content(raw: &RawValue, path: &str) -> Result<MessageContent, ParseError> {
    if raw.get().starts_with('"') {
        let text: String = read(raw.get(), path)?;
        let parts = Vec::from_iter((!text.is_empty()).then_some(Part::Text(text)));
        return Ok(MessageContent { parts, ..MessageContent::default() });
    }
    let list: Vec<&RawValue> = read(raw.get(), path)?;
    blocks(&list, path)
}

/// Parses the blocks of a message, in order.
pub(super) fn blocks(list: &[&RawValue], path: &str) -> Result<MessageContent, ParseError> {
    let mut content = MessageContent::default();
    for (index, raw) in list.iter().enumerate() {
        block(raw, &format!("{path}[{index}]"), &mut content)?;
    }
    Ok(content)
}

#[derive(Deserialize)]
struct Typed {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Text<'a> {
    text: String,
    #[serde(borrow, default)]
    citations: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Thinking {
    #[serde(default)]
    thinking: String,
    #[serde(default)]
    signature: Option<String>,
}

#[derive(Deserialize)]
struct RedactedThinking {
    data: String,
}

#[derive(Deserialize)]
struct ToolUse<'a> {
    id: String,
    name: String,
    #[serde(borrow)]
    input: &'a RawValue,
}

#[derive(Deserialize)]
struct ToolResult<'a> {
    tool_use_id: String,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
}

fn block(raw: &RawValue, path: &str, content: &mut MessageContent) -> Result<(), ParseError> {
    let text = raw.get();
    let Typed { kind } = read(text, path)?;
    match kind.as_str() {
        "text" => return cited_text(text, path, &mut content.parts),
        "thinking" => {
            let thought: Thinking = read(text, path)?;
            content.parts.push(Part::Thinking {
                text: thought.thinking,
                signature: thought.signature.filter(|signature| !signature.is_empty()),
            });
        }
        "redacted_thinking" => {
            let thought: RedactedThinking = read(text, path)?;
            content.parts.push(Part::RedactedThinking(thought.data));
        }
        "tool_use" => content.calls.push(tool_called(text, path)?),
        "tool_result" => content.results.push(tool_returned(text, path)?),
        "image" => content.parts.push(image(text).map_or_else(|| item(text, path), Ok)?),
        "document" => content.parts.push(document(text).map_or_else(|| item(text, path), Ok)?),
        _ => content.parts.push(item(text, path)?),
    }
    Ok(())
}

/// A text, then the list of its citations as one item.
fn cited_text(raw: &str, path: &str, parts: &mut Vec<Part>) -> Result<(), ParseError> {
    let Text { text, citations } = read(raw, path)?;
    // A reply that only calls tools may contain an empty text, which an event may not.
    parts.extend((!text.is_empty()).then_some(Part::Text(text)));
    let citations = citations.unwrap_or_default();
    if !citations.is_empty() {
        let list: Vec<&str> = citations.iter().map(|citation| citation.get()).collect();
        parts.push(item(&format!("[{}]", list.join(",")), path)?);
    }
    Ok(())
}

fn tool_called(raw: &str, path: &str) -> Result<ToolCalled, ParseError> {
    let call: ToolUse<'_> = read(raw, path)?;
    let call_id = values::call_id(&format!("{path}.id"), &call.id)?;
    let tool_name =
        ToolName::parse(call.name).map_err(|violation| ParseError::unusable(format!("{path}.name"), violation))?;
    Ok(ToolCalled::new(call_id, tool_name, json(call.input.get(), &format!("{path}.input"))?))
}

fn tool_returned(raw: &str, path: &str) -> Result<ToolReturned, ParseError> {
    let result: ToolResult<'_> = read(raw, path)?;
    let outcome = match result.is_error {
        Some(true) => ToolOutcome::Failed,
        _ => ToolOutcome::Succeeded,
    };
    let says = result.content.filter(|content| {
        let is_stand_in = serde_json::from_str(content.get()).is_ok_and(|text: &str| text == FAILED);
        outcome == ToolOutcome::Succeeded || !is_stand_in
    });
    let output =
        says.map_or_else(|| Ok(ToolOutput::Parts(Vec::new())), |content| output(content, &format!("{path}.content")))?;
    Ok(ToolReturned {
        call_id: values::call_id(&format!("{path}.tool_use_id"), &result.tool_use_id)?,
        tool_name: None,
        output,
        outcome,
    })
}

/// Parses an output: a text with JSON is a document, anything else is parts.
fn output(raw: &RawValue, path: &str) -> Result<ToolOutput, ParseError> {
    if raw.get().starts_with('"') {
        let text: String = read(raw.get(), path)?;
        if let Ok(document) = JsonText::parse(text.as_str()) {
            return Ok(ToolOutput::Json(document));
        }
    }
    Ok(ToolOutput::Parts(content(raw, path)?.parts))
}

fn item(text: &str, path: &str) -> Result<Part, ParseError> {
    Ok(Part::ProviderItem { provider: provider()?, item: json(text, path)? })
}

fn json(text: &str, path: &str) -> Result<JsonText, ParseError> {
    JsonText::parse(text).map_err(|violation| ParseError::unusable(path, violation))
}

/// An image or a document that has only a source and a title.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Media {
    #[serde(rename = "type")]
    _kind: IgnoredAny,
    source: Source,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    context: Option<IgnoredAny>,
    #[serde(default)]
    citations: Option<IgnoredAny>,
    #[serde(default, rename = "cache_control")]
    _cache_control: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Source {
    Base64 { media_type: String, data: String },
    Text { media_type: String, data: String },
    Url { url: String },
    File { file_id: String },
}

fn image(raw: &str) -> Option<Part> {
    let media = plain_media(raw)?;
    let (source, media_type) = source(media.source)?;
    Some(Part::Image { source, media_type, detail: None })
}

fn document(raw: &str) -> Option<Part> {
    let media = plain_media(raw)?;
    let filename = media.title.map(Label::parse).transpose().ok()?;
    let is_address = matches!(media.source, Source::Url { .. });
    let (source, mut media_type) = source(media.source)?;
    if is_address {
        // Anthropic accepts only PDF by URL.
        media_type = Label::parse(PDF).ok();
    }
    Some(Part::File { source, media_type, filename })
}

fn plain_media(raw: &str) -> Option<Media> {
    let media: Media = serde_json::from_str(raw).ok()?;
    (media.context.is_none() && media.citations.is_none()).then_some(media)
}

fn source(source: Source) -> Option<(MediaSource, Option<Label>)> {
    Some(match source {
        Source::Base64 { media_type, data } => {
            let url = data_url(&media_type, &data);
            (MediaSource::Url(url), Some(Label::parse(media_type).ok()?))
        }
        Source::Text { media_type, data } => {
            let url = MediaSource::Url(text_url(&data));
            (url, Some(Label::parse(media_type).ok()?))
        }
        Source::Url { url } => (MediaSource::Url(url), None),
        Source::File { file_id } => (MediaSource::FileId(file_id), None),
    })
}
