//! Parses the contents of messages and of outputs.

use std::borrow::Cow;

use domain::event::ToolOutput;
use domain::{JsonText, Label, MediaSource, Part};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::reply::ParseError;

use super::decode::{borrowed, own, valid};
use super::media::{DATA_SCHEME, DETAIL_DEFAULT, UNNAMED_FILE};

/// The prefix that turns bare base64 into a `data:` URL.
const BARE_CONTENT: &str = "data:application/octet-stream;base64,";

#[derive(Deserialize)]
struct ContentPart<'a> {
    #[serde(rename = "type")]
    kind: Cow<'a, str>,
    text: Option<String>,
    refusal: Option<String>,
    image_url: Option<String>,
    detail: Option<String>,
    filename: Option<String>,
    file_data: Option<String>,
    file_url: Option<String>,
    file_id: Option<String>,
}

/// The parts of a content, which is a string or a list. Empty texts are omitted.
pub(super) fn parts(content: &RawValue, path: &str) -> Result<Vec<Part>, ParseError> {
    if content.get().starts_with('"') {
        let text: String = borrowed(content, path)?;
        return Ok(texts(text));
    }
    let listed: Vec<&RawValue> = borrowed(content, path)?;
    let mut parts = Vec::with_capacity(listed.len());
    for (index, part) in listed.into_iter().enumerate() {
        parts.extend(content_part(part, &format!("{path}[{index}]"))?);
    }
    Ok(parts)
}

/// The output of a function: a string with JSON is a document, anything else is parts.
pub(super) fn output(content: &RawValue, path: &str) -> Result<ToolOutput, ParseError> {
    if !content.get().starts_with('"') {
        return Ok(ToolOutput::Parts(parts(content, path)?));
    }
    let text: String = borrowed(content, path)?;
    Ok(match JsonText::parse(text.clone()) {
        Ok(json) => ToolOutput::Json(json),
        Err(_) => ToolOutput::Parts(texts(text)),
    })
}

fn texts(text: String) -> Vec<Part> {
    if text.is_empty() { Vec::new() } else { vec![Part::Text(text)] }
}

/// Parses a part. An unknown one becomes a provider item.
fn content_part(raw: &RawValue, path: &str) -> Result<Vec<Part>, ParseError> {
    let part: ContentPart<'_> = borrowed(raw, path)?;
    let known = match part.kind.as_ref() {
        "input_text" | "output_text" | "text" => part.text.map(texts),
        "refusal" => part.refusal.map(|refusal| vec![Part::Refusal(refusal)]),
        "input_image" => image(part, path)?.map(|image| vec![image]),
        "input_file" => file(part, path)?.map(|file| vec![file]),
        _ => None,
    };
    known.map_or_else(|| Ok(vec![own(raw.get(), path)?]), Ok)
}

fn image(part: ContentPart<'_>, path: &str) -> Result<Option<Part>, ParseError> {
    let source = part.image_url.map(MediaSource::Url).or_else(|| part.file_id.map(MediaSource::FileId));
    let detail = part
        .detail
        .filter(|detail| detail != DETAIL_DEFAULT)
        .map(|detail| valid(Label::parse(detail), path, "detail"))
        .transpose()?;
    Ok(source.map(|source| Part::Image { source, media_type: None, detail }))
}

fn file(part: ContentPart<'_>, path: &str) -> Result<Option<Part>, ParseError> {
    let content = part.file_data.map(|data| {
        MediaSource::Url(if data.starts_with(DATA_SCHEME) { data } else { format!("{BARE_CONTENT}{data}") })
    });
    let source =
        content.or_else(|| part.file_url.map(MediaSource::Url)).or_else(|| part.file_id.map(MediaSource::FileId));
    let filename = part
        .filename
        .filter(|name| name != UNNAMED_FILE)
        .map(|name| valid(Label::parse(name), path, "filename"))
        .transpose()?;
    Ok(source.map(|source| Part::File { source, media_type: None, filename }))
}
