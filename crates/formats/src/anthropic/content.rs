//! Renders parts as blocks. Blank texts are omitted (A4). Parts that a target does not accept become a text or nothing, and
//! are listed as lost.

use domain::{Label, MediaSource, Part, Version};

use crate::loss::{LostContent, Replacement, text_form};
use crate::rendered::Notes;

use super::blocks::{Block, Kind, Thought};
use super::target::Target;
use super::{items, media};

/// The prefix of instructions within the conversation, which are rendered as user messages.
pub const INSTRUCTIONS_FRAME: &str = "[Instructions] ";

/// Renders parts as blocks, in order. `version` is the version of losses.
pub(super) fn blocks<'a>(parts: &'a [Part], target: Target, version: Version, notes: &mut Notes) -> Vec<Block<'a>> {
    let mut written = Vec::with_capacity(parts.len());
    let mut previous = None;
    for part in parts {
        match items::citations(part) {
            Some(item) if items::cite(previous, written.last_mut(), item) => {}
            Some(_) => notes.omit(version, LostContent::ProviderItem),
            None => written.extend(block(part, target, version, notes)),
        }
        previous = Some(part);
    }
    written
}

fn block<'a>(part: &'a Part, target: Target, version: Version, notes: &mut Notes) -> Option<Block<'a>> {
    if let Part::Image { detail: Some(_), .. } = part {
        notes.omit(version, LostContent::ImageDetail);
    }
    let native = native(part, target);
    if native.is_some() {
        if let Some((lost, replacement)) = changed(part) {
            notes.lose(version, lost, replacement);
        }
        return native;
    }
    if matches!(part, Part::Text(_) | Part::Refusal(_)) {
        return None;
    }
    let (lost, text) = text_form(part);
    notes.lose(version, lost, Replacement::by_text(text.as_ref()));
    text.map(Block::text)
}

/// The block of a part, if the target accepts it.
fn native(part: &Part, target: Target) -> Option<Block<'_>> {
    match part {
        Part::Text(text) | Part::Refusal(text) => text_block(text, target),
        Part::Image { source, media_type, .. } => image_block(source, media_type.as_ref(), target),
        Part::File { source, media_type, filename } => {
            file_block(source, media_type.as_ref(), filename.as_ref(), target)
        }
        Part::Thinking { text, signature } => thinking_block(text, signature.as_deref(), target),
        Part::RedactedThinking(data) => redacted_block(data, target),
        Part::ProviderItem { provider, item } => items::block(provider, item, target),
    }
}

/// The loss of a part that is rendered with changes.
fn changed(part: &Part) -> Option<(LostContent, Replacement)> {
    match part {
        Part::Refusal(_) => Some((LostContent::Refusal, Replacement::Text)),
        Part::Image { source, media_type: Some(_), .. } if !media::is_data(source) => {
            Some((LostContent::Image, Replacement::OtherForm))
        }
        Part::File { source: MediaSource::FileId(_), media_type: Some(_), .. } => {
            Some((LostContent::File, Replacement::OtherForm))
        }
        Part::Text(_)
        | Part::Image { .. }
        | Part::File { .. }
        | Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::ProviderItem { .. } => None,
    }
}

fn text_block(text: &str, target: Target) -> Option<Block<'_>> {
    if text.trim().is_empty() {
        return None;
    }
    if target == Target::Instructions {
        return Some(Block::text(format!("{INSTRUCTIONS_FRAME}{text}")));
    }
    Some(Block::text(text))
}

fn image_block<'a>(source: &'a MediaSource, media_type: Option<&Label>, target: Target) -> Option<Block<'a>> {
    let source = media::image(source, media_type).filter(|_| target.accepts_media())?;
    Some(Block::from(Kind::Image { source }))
}

fn file_block<'a>(
    source: &'a MediaSource,
    media_type: Option<&Label>,
    filename: Option<&'a Label>,
    target: Target,
) -> Option<Block<'a>> {
    let source = media::document(source, media_type).filter(|_| target.accepts_media())?;
    let title = filename.map(Label::as_str);
    Some(Block::from(Kind::Document { source, title }))
}

/// A thought is rendered only with its signature (A5).
fn thinking_block<'a>(thinking: &'a str, signature: Option<&'a str>, target: Target) -> Option<Block<'a>> {
    let signature = signature.filter(|signature| !signature.is_empty())?;
    let thought = Thought::Thinking { thinking, signature };
    (target == Target::ThinkingAssistant).then_some(Block::Thought(thought))
}

fn redacted_block(data: &str, target: Target) -> Option<Block<'_>> {
    let goes_back = target == Target::ThinkingAssistant && !data.is_empty();
    goes_back.then_some(Block::Thought(Thought::RedactedThinking { data }))
}
