//! Parts as blocks. Blank texts are left out (A4); what a place cannot hold becomes a text or nothing, and is told.

use domain::{Label, MediaSource, Part, Version};

use crate::loss::{Became, Loss, Lost};

use super::blocks::{Block, Kind, Source, Thought};
use super::place::Place;
use super::{items, media};

/// Begins each text of instructions that were given in the middle of the conversation: only the user speaks there.
pub const INSTRUCTIONS_FRAME: &str = "[Instructions] ";

/// The parts as blocks, in order; `version` is what losses are told of.
pub(super) fn blocks<'a>(
    parts: &'a [Part],
    place: Place,
    version: Version,
    losses: &mut Vec<Loss>,
) -> Vec<Block<'a>> {
    let mut written = Vec::with_capacity(parts.len());
    let mut previous = None;
    for part in parts {
        let mut lose = |lost, became| {
            losses.push(Loss {
                version,
                lost,
                became,
            });
        };
        match items::citations(part) {
            Some(item) if items::cite(previous, written.last_mut(), item) => {}
            Some(_) => lose(Lost::ProviderItem, Became::Nothing),
            None => written.extend(block(part, place, lose)),
        }
        previous = Some(part);
    }
    written
}

fn block(part: &Part, place: Place, mut tell: impl FnMut(Lost, Became)) -> Option<Block<'_>> {
    if let Part::Image {
        detail: Some(_), ..
    } = part
    {
        tell(Lost::ImageDetail, Became::Nothing);
    }
    let native = native(part, place);
    if native.is_some() {
        if let Some((lost, became)) = changed(part) {
            tell(lost, became);
        }
        return native;
    }
    let (lost, text) = stand_in(part)?;
    tell(
        lost,
        text.as_ref().map_or(Became::Nothing, |_| Became::Text),
    );
    text.map(Block::text)
}

/// The part as it is, if the place can hold it.
fn native(part: &Part, place: Place) -> Option<Block<'_>> {
    match part {
        Part::Text(text) | Part::Refusal(text) => text_block(text, place),
        Part::Image {
            source, media_type, ..
        } => image_block(source, media_type.as_ref(), place),
        Part::File {
            source,
            media_type,
            filename,
        } => file_block(source, media_type.as_ref(), filename.as_ref(), place),
        Part::Thinking { text, signature } => thinking_block(text, signature.as_deref(), place),
        Part::RedactedThinking(data) => redacted_block(data, place),
        Part::ProviderItem { provider, item } => items::block(provider, item, place),
    }
}

/// What of a part that has its place is changed there all the same.
fn changed(part: &Part) -> Option<(Lost, Became)> {
    match part {
        Part::Refusal(_) => Some((Lost::Refusal, Became::Text)),
        Part::Image {
            source,
            media_type: Some(_),
            ..
        } if !media::is_data(source) => Some((Lost::Image, Became::OtherForm)),
        Part::File {
            source: MediaSource::FileId(_),
            media_type: Some(_),
            ..
        } => Some((Lost::File, Became::OtherForm)),
        Part::Text(_)
        | Part::Image { .. }
        | Part::File { .. }
        | Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::ProviderItem { .. } => None,
    }
}

/// What is lost where a place cannot hold the part, and the text that stands for it; none for a blank text.
fn stand_in(part: &Part) -> Option<(Lost, Option<String>)> {
    Some(match part {
        Part::Text(_) | Part::Refusal(_) => return None,
        Part::Image { media_type, .. } => {
            let text = media::image_placeholder(media_type.as_ref());
            (Lost::Image, Some(text))
        }
        Part::File {
            media_type,
            filename,
            ..
        } => {
            let text = media::file_placeholder(filename.as_ref(), media_type.as_ref());
            (Lost::File, Some(text))
        }
        Part::Thinking { .. } => (Lost::Thinking, None),
        Part::RedactedThinking(_) => (Lost::RedactedThinking, None),
        Part::ProviderItem { .. } => (Lost::ProviderItem, None),
    })
}

fn text_block(text: &str, place: Place) -> Option<Block<'_>> {
    if text.trim().is_empty() {
        return None;
    }
    if place == Place::Instructions {
        return Some(Block::text(format!("{INSTRUCTIONS_FRAME}{text}")));
    }
    Some(Block::text(text))
}

fn image_block<'a>(
    source: &'a MediaSource,
    media_type: Option<&Label>,
    place: Place,
) -> Option<Block<'a>> {
    let source = taken(place, media::image(source, media_type))?;
    Some(Block::from(Kind::Image { source }))
}

fn file_block<'a>(
    source: &'a MediaSource,
    media_type: Option<&Label>,
    filename: Option<&'a Label>,
    place: Place,
) -> Option<Block<'a>> {
    let source = taken(place, media::document(source, media_type))?;
    let title = filename.map(Label::as_str);
    Some(Block::from(Kind::Document { source, title }))
}

fn taken(place: Place, source: Option<Source<'_>>) -> Option<Source<'_>> {
    source.filter(|_| place.takes_media())
}

/// A thought goes back with its signature or not at all (A5).
fn thinking_block<'a>(
    thinking: &'a str,
    signature: Option<&'a str>,
    place: Place,
) -> Option<Block<'a>> {
    let signature = signature.filter(|signature| !signature.is_empty())?;
    let thought = Thought::Thinking {
        thinking,
        signature,
    };
    (place == Place::ThinkingAssistant).then_some(Block::Thought(thought))
}

fn redacted_block(data: &str, place: Place) -> Option<Block<'_>> {
    let goes_back = place == Place::ThinkingAssistant && !data.is_empty();
    goes_back.then_some(Block::Thought(Thought::RedactedThinking { data }))
}
