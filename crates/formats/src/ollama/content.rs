//! What a turn's parts become in a message.

use std::borrow::Cow;

use context::Turn;
use domain::{MediaSource, Part};

use super::{PROVIDER, picture};
use crate::chat::writing::{self, Notes};
use crate::loss::{Became, Lost};
use crate::options::Thoughts;

/// Between the texts of one message: the content is one string (L1).
const TEXTS_SEPARATOR: &str = "\n";

/// A message's texts as one; none where there are none.
pub(super) fn joined<'a>(texts: Vec<Cow<'a, str>>) -> Option<Cow<'a, str>> {
    match <[Cow<'a, str>; 1]>::try_from(texts) {
        Ok([text]) => Some(text),
        Err(texts) if texts.is_empty() => None,
        Err(texts) => Some(Cow::Owned(texts.join(TEXTS_SEPARATOR))),
    }
}

/// The texts of instructions.
pub(super) fn texts<'a>(turn: &'a Turn, notes: &mut Notes) -> Vec<Cow<'a, str>> {
    turn.parts
        .iter()
        .filter_map(|part| writing::text(part, turn.version, notes))
        .collect()
}

/// A user's texts and pictures. The server puts pictures before the text, so one that follows a text loses its place.
pub(super) fn user<'a>(turn: &'a Turn, notes: &mut Notes) -> (Vec<Cow<'a, str>>, Vec<&'a str>) {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for part in &turn.parts {
        let Some(image) = image(part) else {
            texts.extend(writing::text(part, turn.version, notes));
            continue;
        };
        if let Part::Image {
            detail: Some(_), ..
        } = part
        {
            notes.lose(turn.version, Lost::ImageDetail, Became::Nothing);
        }
        if !texts.is_empty() {
            notes.lose(turn.version, Lost::PartOrder, Became::OtherForm);
        }
        images.push(image);
    }
    (texts, images)
}

fn image(part: &Part) -> Option<&str> {
    match part {
        Part::Image {
            source: MediaSource::Url(url),
            ..
        } => picture::base64_of(url),
        Part::Text(_)
        | Part::Image { .. }
        | Part::File { .. }
        | Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::Refusal(_)
        | Part::ProviderItem { .. } => None,
    }
}

/// An assistant's texts and thoughts. Thoughts of this provider's models go back, others are lost: none has a signature
/// that would be checked.
pub(super) fn assistant<'a>(
    turn: &'a Turn,
    thoughts: Thoughts,
    notes: &mut Notes,
) -> (Vec<Cow<'a, str>>, Vec<Cow<'a, str>>) {
    let is_own = turn
        .provider
        .as_ref()
        .is_some_and(|provider| provider.as_str() == PROVIDER);
    let goes_back = is_own && thoughts == Thoughts::Replay;
    let (mut texts, mut thinking) = (Vec::new(), Vec::new());
    for part in &turn.parts {
        let Part::Thinking { text, signature } = part else {
            texts.extend(writing::text(part, turn.version, notes));
            continue;
        };
        if !goes_back {
            notes.lose(turn.version, Lost::Thinking, Became::Nothing);
            continue;
        }
        if signature.is_some() {
            notes.lose(turn.version, Lost::ThinkingSignature, Became::Nothing);
        }
        if !texts.is_empty() {
            notes.lose(turn.version, Lost::PartOrder, Became::OtherForm);
        }
        if !text.is_empty() {
            thinking.push(Cow::Borrowed(text.as_str()));
        }
    }
    (texts, thinking)
}
