//! Renders the parts of a turn as the content of a message.

use std::borrow::Cow;

use context::Turn;
use domain::{MediaSource, Part};

use super::{PROVIDER, picture};
use crate::chat::texts;
use crate::loss::LostContent;
use crate::options::Thoughts;
use crate::rendered::Notes;

/// The separator of the texts of one message, whose content is one string (L1).
const TEXTS_SEPARATOR: &str = "\n";

/// The texts as one; `None` without texts.
pub(super) fn joined<'a>(texts: Vec<Cow<'a, str>>) -> Option<Cow<'a, str>> {
    match <[Cow<'a, str>; 1]>::try_from(texts) {
        Ok([text]) => Some(text),
        Err(texts) if texts.is_empty() => None,
        Err(texts) => Some(Cow::Owned(texts.join(TEXTS_SEPARATOR))),
    }
}

/// The texts of instructions.
pub(super) fn texts<'a>(turn: &'a Turn, notes: &mut Notes) -> Vec<Cow<'a, str>> {
    turn.parts.iter().filter_map(|part| texts::text(part, turn.version, notes)).collect()
}

/// The texts and images of a user. The server puts images before the text, so an image after a text loses its position.
pub(super) fn user<'a>(turn: &'a Turn, notes: &mut Notes) -> (Vec<Cow<'a, str>>, Vec<&'a str>) {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for part in &turn.parts {
        let Some(image) = image(part) else {
            texts.extend(texts::text(part, turn.version, notes));
            continue;
        };
        if let Part::Image { detail: Some(_), .. } = part {
            notes.omit(turn.version, LostContent::ImageDetail);
        }
        if !texts.is_empty() {
            notes.change_form(turn.version, LostContent::PartOrder);
        }
        images.push(image);
    }
    (texts, images)
}

fn image(part: &Part) -> Option<&str> {
    match part {
        Part::Image { source: MediaSource::Url(url), .. } => picture::base64_in(url),
        Part::Text(_)
        | Part::Image { .. }
        | Part::File { .. }
        | Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::Refusal(_)
        | Part::ProviderItem { .. } => None,
    }
}

/// The texts and thoughts of an assistant. Thoughts of this provider are rendered, others are lost. Signatures are not
/// rendered, because the provider does not check them.
pub(super) fn assistant<'a>(
    turn: &'a Turn,
    thoughts: Thoughts,
    notes: &mut Notes,
) -> (Vec<Cow<'a, str>>, Vec<Cow<'a, str>>) {
    let provider = turn.provider.as_ref();
    let is_own = provider.is_some_and(|provider| provider.as_str() == PROVIDER);
    let renders_thoughts = is_own && thoughts == Thoughts::Replay;
    let (mut texts, mut thinking) = (Vec::new(), Vec::new());
    for part in &turn.parts {
        let Part::Thinking { text, signature } = part else {
            texts.extend(texts::text(part, turn.version, notes));
            continue;
        };
        if !renders_thoughts {
            notes.omit(turn.version, LostContent::Thinking);
            continue;
        }
        if signature.is_some() {
            notes.omit(turn.version, LostContent::ThinkingSignature);
        }
        if !texts.is_empty() {
            notes.change_form(turn.version, LostContent::PartOrder);
        }
        if !text.is_empty() {
            thinking.push(Cow::Borrowed(text.as_str()));
        }
    }
    (texts, thinking)
}
