//! Renders the parts of a turn as the content of a message.

use std::borrow::Cow;

use context::Turn;
use domain::{Label, MediaSource, Part, Version};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::PROVIDER;
use super::outgoing::{Content, ContentPart, File, ImageUrl};
use crate::chat::texts;
use crate::loss::LostContent;
use crate::names::safe_tool_name;
use crate::rendered::Notes;

/// The detail levels of images that the provider accepts.
const DETAILS: [&str; 3] = ["auto", "low", "high"];
/// The schemes of image URLs that the provider accepts.
const IMAGE_SCHEMES: [&str; 3] = ["https://", "http://", DATA];
/// The scheme of URLs that contain data and its media type.
const DATA: &str = "data:";
/// The types of the provider's own parts that a user message may contain.
const USER_ITEM_TYPES: [&str; 3] = ["input_audio", "image_url", "file"];
/// The name of a file without one, because the provider requires a name.
const FILE_NAME: &str = "file";

/// The parts of a user, in order.
pub(super) fn user_parts<'a>(turn: &'a Turn, notes: &mut Notes) -> Vec<ContentPart<'a>> {
    turn.parts.iter().filter_map(|part| user_part(part, turn.version, notes)).collect()
}

fn user_part<'a>(part: &'a Part, version: Version, notes: &mut Notes) -> Option<ContentPart<'a>> {
    let native = match part {
        Part::Image { source: MediaSource::Url(url), media_type, detail }
            if IMAGE_SCHEMES.iter().any(|scheme| url.starts_with(scheme)) =>
        {
            if media_type.is_some() && !url.starts_with(DATA) {
                notes.change_form(version, LostContent::Image);
            }
            Some(image(url, detail.as_ref(), version, notes))
        }
        Part::File { source, media_type, filename } => {
            let file = file(source, filename.as_ref());
            let labelled = media_type.is_some() || filename.is_some();
            if file.is_some() && labelled && matches!(source, MediaSource::FileId(_)) {
                notes.change_form(version, LostContent::File);
            }
            file
        }
        Part::ProviderItem { provider, item } if provider.as_str() == PROVIDER => user_item(item.as_str()),
        Part::Text(_)
        | Part::Image { .. }
        | Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::Refusal(_)
        | Part::ProviderItem { .. } => None,
    };
    native.or_else(|| texts::text(part, version, notes).map(|text| ContentPart::Text { text }))
}

fn image<'a>(url: &'a str, detail: Option<&'a Label>, version: Version, notes: &mut Notes) -> ContentPart<'a> {
    let detail = detail.map(Label::as_str);
    let known = detail.filter(|detail| DETAILS.contains(detail));
    if known != detail {
        notes.omit(version, LostContent::ImageDetail);
    }
    ContentPart::ImageUrl { image_url: ImageUrl { url, detail: known } }
}

/// The provider accepts files that it stores, and inline files, but no other URLs.
fn file<'a>(source: &'a MediaSource, filename: Option<&'a Label>) -> Option<ContentPart<'a>> {
    let file = match source {
        MediaSource::FileId(file_id) if !file_id.is_empty() => File::Kept { file_id },
        MediaSource::Url(url) if url.starts_with(DATA) => {
            File::Inline { filename: filename.map_or(FILE_NAME, Label::as_str), file_data: url }
        }
        MediaSource::FileId(_) | MediaSource::Url(_) => return None,
    };
    Some(ContentPart::File { file })
}

/// An item of the provider. Items of its Responses API are not accepted.
fn user_item(item: &str) -> Option<ContentPart<'_>> {
    #[derive(Deserialize)]
    struct Typed<'a> {
        #[serde(borrow, rename = "type")]
        item_type: Cow<'a, str>,
    }
    let typed: Typed<'_> = serde_json::from_str(item).ok()?;
    if !USER_ITEM_TYPES.contains(&typed.item_type.as_ref()) {
        return None;
    }
    let raw: &RawValue = serde_json::from_str(item).ok()?;
    Some(ContentPart::Item(raw))
}

/// The parts of instructions, as texts (O4).
pub(super) fn text_parts<'a>(turn: &'a Turn, notes: &mut Notes) -> Vec<ContentPart<'a>> {
    let texts = turn.parts.iter().filter_map(|part| texts::text(part, turn.version, notes));
    texts.map(|text| ContentPart::Text { text }).collect()
}

/// The content of an assistant, and its refusal. A refusal without other content is the content (O2).
pub(super) fn assistant<'a>(turn: &'a Turn, notes: &mut Notes) -> (Option<Content<'a>>, Option<String>) {
    let (mut parts, mut refusals) = (Vec::new(), Vec::new());
    for part in &turn.parts {
        if let Part::Refusal(refusal) = part {
            refusals.extend((!refusal.is_empty()).then_some(refusal.as_str()));
        } else if let Some(text) = texts::text(part, turn.version, notes) {
            if !refusals.is_empty() {
                notes.change_form(turn.version, LostContent::PartOrder);
            }
            parts.push(ContentPart::Text { text });
        }
    }
    let refusal = (!refusals.is_empty()).then(|| refusals.join("\n"));
    match (from_parts(parts), refusal) {
        (None, Some(refusal)) => {
            let alone = ContentPart::Refusal { refusal };
            (Some(Content::Parts(vec![alone])), None)
        }
        (content, refusal) => (content, refusal),
    }
}

/// The content of a message; `None` if it is empty (O1). A single text is a string, which every server accepts.
pub(super) fn from_parts(parts: Vec<ContentPart<'_>>) -> Option<Content<'_>> {
    match <[ContentPart<'_>; 1]>::try_from(parts) {
        Ok([ContentPart::Text { text }]) => Some(Content::Text(text)),
        Ok(alone) => Some(Content::Parts(alone.into())),
        Err(parts) if parts.is_empty() => None,
        Err(parts) => Some(Content::Parts(parts)),
    }
}

/// The name of the author, in the characters that the provider accepts.
pub(super) fn name<'a>(turn: &'a Turn, notes: &mut Notes) -> Option<Cow<'a, str>> {
    let author = turn.author.as_ref()?.as_str();
    let name = safe_tool_name(author);
    if name == author {
        return Some(Cow::Borrowed(author));
    }
    notes.change_form(turn.version, LostContent::Author);
    Some(Cow::Owned(name))
}
