//! Renders the content of a turn as parts, without its calls.

use std::borrow::Cow;

use context::Turn;
use domain::event::Role;
use domain::{JsonText, Label, Part};
use serde_json::value::RawValue;

use super::body::{MadePart, OutData, OutPart};
use super::media::written;
use super::read::{FUNCTION_MARK, parse_fields};
use super::{INSTRUCTIONS_MARK, PROVIDER};
use crate::Thoughts;
use crate::loss::{LostContent, Replacement, placeholder, text_form};
use crate::rendered::Notes;

/// The rendering of a part.
enum Written<'a> {
    Part(OutPart<'a>),
    /// A signature of the part before it.
    Signature(&'a str),
    Nothing,
}

impl<'a> From<Option<OutPart<'a>>> for Written<'a> {
    fn from(part: Option<OutPart<'a>>) -> Self {
        part.map_or(Self::Nothing, Self::Part)
    }
}

/// The parts of a turn.
pub(super) fn turn_parts<'a>(turn: &'a Turn, thoughts: Thoughts, notes: &mut Notes) -> Vec<OutPart<'a>> {
    notes.omit_author(turn);
    let mut parts = Vec::new();
    let mut follows_part = false;
    for part in &turn.parts {
        let next = written_part(turn, part, thoughts, notes);
        let before = parts.last_mut().filter(|_| follows_part);
        follows_part = matches!(next, Written::Part(_));
        match next {
            Written::Part(part) => parts.push(part),
            Written::Signature(signature) => match before {
                Some(OutPart::Made(made)) if made.thought_signature.is_none() => {
                    made.thought_signature = Some(signature);
                }
                _ => notes.omit(turn.version, LostContent::Thinking),
            },
            Written::Nothing => {}
        }
    }
    parts
}

/// The texts of a turn that joins the instructions. Instructions contain only text.
pub(super) fn instruction_parts<'a>(turn: &'a Turn, notes: &mut Notes) -> Vec<OutPart<'a>> {
    notes.omit_author(turn);
    turn.parts.iter().filter_map(|part| OutPart::text(part_text(part, turn.version, notes)?)).collect()
}

/// The text of a part, or its placeholder; `None` for a part without text. Records losses.
pub(super) fn part_text<'a>(part: &'a Part, version: domain::Version, notes: &mut Notes) -> Option<Cow<'a, str>> {
    let (lost, text) = match part {
        Part::Text(text) => return Some(Cow::Borrowed(text)),
        Part::File { media_type, .. } => {
            let text = placeholder("file", media_type.as_ref());
            (LostContent::File, Some(Cow::Owned(text)))
        }
        Part::Refusal(_)
        | Part::Image { .. }
        | Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::ProviderItem { .. } => text_form(part),
    };
    notes.lose(version, lost, Replacement::by_text(text.as_ref()));
    text
}

/// Marks a text as instructions.
pub(super) fn framed(part: OutPart<'_>) -> OutPart<'_> {
    let OutPart::Made(mut made) = part else {
        return part;
    };
    if let OutData::Text { text } = &mut made.data {
        text.to_mut().insert_str(0, INSTRUCTIONS_MARK);
    }
    OutPart::Made(made)
}

fn written_part<'a>(turn: &'a Turn, part: &'a Part, thoughts: Thoughts, notes: &mut Notes) -> Written<'a> {
    let written = match part {
        Part::Image { source, media_type, .. } | Part::File { source, media_type, .. } => {
            written(source, media_type.as_ref())
                .map(|data| Written::Part(OutPart::unsigned(data)))
                .inspect(|_| lose_description(turn, part, notes))
        }
        Part::Thinking { text, signature } if own_thoughts(turn, thoughts) => thought(text, signature.as_deref()),
        Part::ProviderItem { provider, item } => own_item(provider, item).map(Written::Part),
        Part::Text(_) | Part::Refusal(_) | Part::Thinking { .. } | Part::RedactedThinking(_) => None,
    };
    written.unwrap_or_else(|| {
        let text = part_text(part, turn.version, notes);
        text.and_then(OutPart::text).into()
    })
}

/// Records the loss of the detail level of an image and of the name of a file.
fn lose_description(turn: &Turn, part: &Part, notes: &mut Notes) {
    if let Part::Image { detail: Some(_), .. } = part {
        notes.omit(turn.version, LostContent::ImageDetail);
    }
    if let Part::File { filename: Some(_), .. } = part {
        notes.change_form(turn.version, LostContent::File);
    }
}

/// Whether the thoughts of the turn are rendered: they are the provider's, and the options say so (G5).
fn own_thoughts(turn: &Turn, thoughts: Thoughts) -> bool {
    let own = turn.provider.as_ref().is_some_and(is_own);
    own && turn.role == Role::Assistant && thoughts == Thoughts::Replay
}

fn is_own(provider: &Label) -> bool {
    provider.as_str() == PROVIDER
}

/// An empty thought with a signature signs the part before it. An empty thought without one is omitted.
fn thought<'a>(text: &'a str, signature: Option<&'a str>) -> Option<Written<'a>> {
    let signature = signature.filter(|signature| !signature.is_empty());
    if text.is_empty() {
        return signature.map(Written::Signature);
    }
    Some(Written::Part(OutPart::Made(MadePart {
        data: OutData::Thought { text, thought: true },
        thought_signature: signature,
    })))
}

/// The data fields of items that are rendered. Calls and results are excluded, because their numbers must match (G3).
#[rustfmt::skip]
const ITEM_DATA: [&str; 7] = [
    "text", "inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse",
];

/// An item of the provider that is rendered verbatim: it has exactly one data field, which is not empty (G2).
fn own_item<'a>(provider: &Label, item: &'a JsonText) -> Option<OutPart<'a>> {
    const EMPTY: &str = "\"\"";
    if !is_own(provider) {
        return None;
    }
    let item: &RawValue = serde_json::from_str(item.as_str()).ok()?;
    let fields = parse_fields(item).ok()?;
    let mut calls = fields.keys().filter(|name| name.starts_with(FUNCTION_MARK));
    let mut data = fields.iter().filter(|(name, _)| ITEM_DATA.contains(&name.as_str()));
    let one = data.next().filter(|(_, value)| value.get() != EMPTY);
    let lone = one.is_some() && data.next().is_none() && calls.next().is_none();
    lone.then_some(OutPart::Verbatim(item))
}

#[cfg(test)]
mod tests;
