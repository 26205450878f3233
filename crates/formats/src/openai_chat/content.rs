//! What a turn's parts become in a message.

use std::borrow::Cow;

use context::Turn;
use domain::{Label, MediaSource, Part, Version};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::PROVIDER;
use super::outgoing::{Content, ContentPart, File, ImageUrl};
use crate::chat::writing::{self, Notes};
use crate::loss::{Became, Lost};
use crate::names::safe_tool_name;

/// How closely a picture is looked at, in the words that the provider knows.
const DETAILS: [&str; 3] = ["auto", "low", "high"];
/// Where the provider fetches pictures from; `data:` carries them along.
const IMAGE_ADDRESSES: [&str; 3] = ["https://", "http://", DATA];
/// How an address begins that carries its content along, and says its media type.
const DATA: &str = "data:";
/// The provider's own parts that have their place in a user's message.
const USER_ITEM_TYPES: [&str; 3] = ["input_audio", "image_url", "file"];
/// The name of a file that has none: the provider asks for one.
const FILE_NAME: &str = "file";

/// A user's parts, in order.
pub(super) fn user_parts<'a>(turn: &'a Turn, notes: &mut Notes) -> Vec<ContentPart<'a>> {
    turn.parts
        .iter()
        .filter_map(|part| user_part(part, turn.version, notes))
        .collect()
}

fn user_part<'a>(part: &'a Part, version: Version, notes: &mut Notes) -> Option<ContentPart<'a>> {
    let native = match part {
        Part::Image {
            source: MediaSource::Url(url),
            media_type,
            detail,
        } if IMAGE_ADDRESSES.iter().any(|begin| url.starts_with(begin)) => {
            if media_type.is_some() && !url.starts_with(DATA) {
                notes.lose(version, Lost::Image, Became::OtherForm);
            }
            Some(image(url, detail.as_ref(), version, notes))
        }
        Part::File {
            source,
            media_type,
            filename,
        } => {
            let file = file(source, filename.as_ref());
            let labelled = media_type.is_some() || filename.is_some();
            if file.is_some() && labelled && matches!(source, MediaSource::FileId(_)) {
                notes.lose(version, Lost::File, Became::OtherForm);
            }
            file
        }
        Part::ProviderItem { provider, item } if provider.as_str() == PROVIDER => {
            user_item(item.as_str())
        }
        Part::Text(_)
        | Part::Image { .. }
        | Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::Refusal(_)
        | Part::ProviderItem { .. } => None,
    };
    native.or_else(|| writing::text(part, version, notes).map(|text| ContentPart::Text { text }))
}

fn image<'a>(
    url: &'a str,
    detail: Option<&'a Label>,
    version: Version,
    notes: &mut Notes,
) -> ContentPart<'a> {
    let detail = detail.map(Label::as_str);
    let known = detail.filter(|detail| DETAILS.contains(detail));
    if known != detail {
        notes.lose(version, Lost::ImageDetail, Became::Nothing);
    }
    ContentPart::ImageUrl {
        image_url: ImageUrl { url, detail: known },
    }
}

/// The provider takes files that it keeps and such as come along, none by their address.
fn file<'a>(source: &'a MediaSource, filename: Option<&'a Label>) -> Option<ContentPart<'a>> {
    let file = match source {
        MediaSource::FileId(file_id) if !file_id.is_empty() => File::Kept { file_id },
        MediaSource::Url(url) if url.starts_with(DATA) => File::Inline {
            filename: filename.map_or(FILE_NAME, Label::as_str),
            file_data: url,
        },
        MediaSource::FileId(_) | MediaSource::Url(_) => return None,
    };
    Some(ContentPart::File { file })
}

/// Items of the provider's other interface have no place here.
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
    let texts = turn
        .parts
        .iter()
        .filter_map(|part| writing::text(part, turn.version, notes));
    texts.map(|text| ContentPart::Text { text }).collect()
}

/// What an assistant says: its content and, beside a content, its refusal. Alone, a refusal is the content (O2).
pub(super) fn assistant<'a>(
    turn: &'a Turn,
    notes: &mut Notes,
) -> (Option<Content<'a>>, Option<String>) {
    let (mut parts, mut refusals) = (Vec::new(), Vec::new());
    for part in &turn.parts {
        if let Part::Refusal(refusal) = part {
            refusals.extend((!refusal.is_empty()).then_some(refusal.as_str()));
        } else if let Some(text) = writing::text(part, turn.version, notes) {
            if !refusals.is_empty() {
                notes.lose(turn.version, Lost::PartOrder, Became::OtherForm);
            }
            parts.push(ContentPart::Text { text });
        }
    }
    let refusal = (!refusals.is_empty()).then(|| refusals.join("\n"));
    match (of_parts(parts), refusal) {
        (None, Some(refusal)) => {
            let alone = ContentPart::Refusal { refusal };
            (Some(Content::Parts(vec![alone])), None)
        }
        (content, refusal) => (content, refusal),
    }
}

/// A message's content; none where it would be empty (O1). One text alone stands as a string, which every server takes.
pub(super) fn of_parts(parts: Vec<ContentPart<'_>>) -> Option<Content<'_>> {
    match <[ContentPart<'_>; 1]>::try_from(parts) {
        Ok([ContentPart::Text { text }]) => Some(Content::Text(text)),
        Ok(alone) => Some(Content::Parts(alone.into())),
        Err(parts) if parts.is_empty() => None,
        Err(parts) => Some(Content::Parts(parts)),
    }
}

/// The speaker's name in the characters that the provider takes.
pub(super) fn name<'a>(turn: &'a Turn, notes: &mut Notes) -> Option<Cow<'a, str>> {
    let author = turn.author.as_ref()?.as_str();
    let name = safe_tool_name(author);
    if name == author {
        return Some(Cow::Borrowed(author));
    }
    notes.lose(turn.version, Lost::Author, Became::OtherForm);
    Some(Cow::Owned(name))
}
