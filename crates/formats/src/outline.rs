//! Where the sections of a transcript are in a rendered body.
//!
//! A renderer notes after each section how far the list of messages is. Formats merge adjacent messages of one speaker, so a
//! section may end within a message. [`pieces`] converts the notes into ranges of bytes.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use domain::Version;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A section of a transcript in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Fields of the request that the model does not read, such as the key of the cache.
    Fields,
    /// The instructions. Some formats also move the instructions here that the conversation begins with.
    Instructions,
    /// What replaces omitted turns: a summary or a note.
    Opening,
    /// The turn with this version, and the texts that the format adds before it.
    Turn(Version),
    /// The section that changes with every context: the digest of tool calls.
    Closing,
    /// Text that the format adds after the last section.
    Added,
}

/// How far the list of messages is at the end of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SectionEnd {
    pub(crate) section: Section,
    /// The number of messages.
    pub(crate) messages: usize,
    /// The number of parts of the last message; 0 in formats that merge no messages.
    pub(crate) parts: usize,
}

/// The structure of the bodies of a format.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The field with the list of messages.
    pub(crate) list: &'static str,
    /// The field with the parts of a message, in formats that merge messages.
    pub(crate) parts: Option<&'static str>,
    /// The other fields that contain a section.
    pub(crate) fields: &'static [(&'static str, Section)],
}

/// The sections of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    pub(crate) layout: &'static Layout,
    /// In the order of the body.
    pub(crate) ends: Vec<SectionEnd>,
}

/// A field, a message or a part of a message: JSON within a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The section that it belongs to.
    pub section: Section,
    /// Its bytes in the body.
    pub range: Range<usize>,
}

/// The pieces of a body that was rendered with this outline: by position, without overlaps. A message is one piece unless
/// sections share it; then each of its parts is one. Empty if the body is not JSON.
#[must_use]
pub fn pieces(body: &[u8], outline: &Outline) -> Vec<Piece> {
    let Ok(text) = std::str::from_utf8(body) else {
        return Vec::new();
    };
    let Ok(Object(fields)) = serde_json::from_str(text) else {
        return Vec::new();
    };
    let layout = outline.layout;
    let mut pieces = Vec::new();
    for (name, value) in fields {
        let list: Option<Vec<&RawValue>> =
            (name == layout.list).then(|| serde_json::from_str(value.get()).ok()).flatten();
        if let Some(messages) = list {
            pieces.extend(messages_by_section(&messages, outline));
        } else {
            let mut of_fields = layout.fields.iter();
            let section = of_fields.find(|(field, _)| *field == name);
            pieces.push((section.map_or(Section::Fields, |(_, section)| *section), value));
        }
    }
    let pieces = pieces.into_iter();
    pieces.map(|(section, value)| Piece { section, range: range_within(text, value.get()) }).collect()
}

/// The messages, or their parts, each with its section.
fn messages_by_section<'a>(messages: &[&'a RawValue], outline: &Outline) -> Vec<(Section, &'a RawValue)> {
    let parts = outline.layout.parts;
    let last = SectionEnd {
        section: Section::Added,
        messages: messages.len(),
        parts: messages.last().map_or(0, |last| parts_of(last, parts).len()),
    };
    let mut pieces = Vec::new();
    let (mut message, mut part) = (0, 0);
    for end in outline.ends.iter().copied().chain([last]) {
        while message < end.messages
            && let Some(raw) = messages.get(message).copied()
        {
            let all = parts_of(raw, parts);
            let is_last = message + 1 == end.messages;
            let to = if is_last && !all.is_empty() { end.parts.min(all.len()) } else { all.len() };
            if part == 0 && to == all.len() {
                pieces.push((end.section, raw));
            } else {
                let shared = all.get(part..to).unwrap_or_default();
                pieces.extend(shared.iter().map(|one| (end.section, *one)));
            }
            if to < all.len() {
                part = to;
                break;
            }
            (message, part) = (message + 1, 0);
        }
    }
    pieces
}

/// The parts of a message; none in formats that merge no messages.
fn parts_of<'a>(message: &'a RawValue, field: Option<&str>) -> Vec<&'a RawValue> {
    let Some(field) = field else {
        return Vec::new();
    };
    let Ok(Object(fields)) = serde_json::from_str(message.get()) else {
        return Vec::new();
    };
    let parts = fields.into_iter().find(|(name, _)| name == field);
    parts.and_then(|(_, parts)| serde_json::from_str(parts.get()).ok()).unwrap_or_default()
}

/// The range of a text that is a part of `whole`.
fn range_within(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr().saturating_sub(whole.as_ptr().addr());
    start..start.saturating_add(part.len())
}

/// An object whose fields keep their order and their bytes.
struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MERGING: Layout =
        Layout { list: "messages", parts: Some("content"), fields: &[("system", Section::Instructions)] };

    fn check(ends: &[(Section, usize, usize)], expected: &[(Section, &str)]) {
        let body = r#"{"system":["s"],"key":"k","messages":[{"content":[1,2]},{"content":[3]},{"content":[4,5,6]}]}"#;
        let ends = ends.iter().map(|&(section, messages, parts)| SectionEnd { section, messages, parts });
        let outline = Outline { layout: &MERGING, ends: ends.collect() };
        let found: Vec<(Section, &str)> =
            pieces(body.as_bytes(), &outline).into_iter().map(|piece| (piece.section, &body[piece.range])).collect();
        let fields = [(Section::Instructions, r#"["s"]"#), (Section::Fields, r#""k""#)];
        assert_eq!(found, [&fields, expected].concat());
    }

    #[test]
    fn sections_end_at_messages_or_within_them() {
        use Section::{Added, Closing, Opening};
        let (one, two) = (Section::Turn(Version(1)), Section::Turn(Version(2)));
        let all = [r#"{"content":[1,2]}"#, r#"{"content":[3]}"#, r#"{"content":[4,5,6]}"#];
        check(&[], &all.map(|message| (Added, message)));
        check(&[(one, 3, 3)], &all.map(|message| (one, message)));
        check(
            &[(Opening, 1, 1), (one, 1, 2), (two, 3, 1), (Closing, 3, 2)],
            &[(Opening, "1"), (one, "2"), (two, all[1]), (two, "4"), (Closing, "5"), (Added, "6")],
        );
        // A section without content.
        check(&[(Opening, 0, 0), (one, 1, 2), (two, 1, 2)], &[(one, all[0]), (Added, all[1]), (Added, all[2])]);
    }

    #[test]
    fn other_bytes_have_no_pieces() {
        let outline = Outline { layout: &MERGING, ends: Vec::new() };
        for body in [&b"[]"[..], b"", b"\xff"] {
            assert_eq!(pieces(body, &outline), []);
        }
    }
}
