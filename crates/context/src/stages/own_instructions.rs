//! The conversation's own instructions: the system and developer messages that it begins with.
//!
//! They define the assistant, so they are kept when older turns are omitted or summarised: then they follow the policy's
//! instructions. Until then they are ordinary turns.

use domain::event::Role;
use domain::{Fact, Part, RecordedEvent, Version};

/// How many of a conversation's first events are searched for them.
pub const OWN_INSTRUCTIONS_EVENTS_MAX: u32 = 16;
/// They may take at most one part in this many of the room for turns; longer ones are omitted like any turn.
pub const OWN_INSTRUCTIONS_PART: u64 = 2;

/// A conversation's own instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnInstructions {
    /// The version of the last one.
    pub through: Version,
    /// Their texts, in order.
    pub texts: Vec<String>,
}

/// Finds them among a conversation's first events, oldest first. The first message with another role, or with other content than
/// text, ends the search.
#[must_use]
pub fn own_instructions(first: impl IntoIterator<Item = RecordedEvent>) -> Option<OwnInstructions> {
    let mut found = OwnInstructions { through: Version::ZERO, texts: Vec::new() };
    for event in first {
        let Fact::MessageAppended(message) = event.event.fact else {
            continue;
        };
        let is_instruction = matches!(message.role, Role::System | Role::Developer);
        let Some(text) = text_of(message.parts).filter(|_| is_instruction) else {
            break;
        };
        found.through = event.version;
        found.texts.push(text);
    }
    (!found.texts.is_empty()).then_some(found)
}

/// The text of a message that has only text, and is not blank.
fn text_of(parts: Vec<Part>) -> Option<String> {
    let texts: Option<Vec<String>> = parts
        .into_iter()
        .map(|part| match part {
            Part::Text(text) => Some(text),
            Part::Refusal(_)
            | Part::Image { .. }
            | Part::File { .. }
            | Part::Thinking { .. }
            | Part::RedactedThinking(_)
            | Part::ProviderItem { .. } => None,
        })
        .collect();
    texts.map(|texts| texts.join("\n")).filter(|text| !text.trim().is_empty())
}
