//! The conversation's own instructions: the system and developer messages that it begins with.
//!
//! They say who the assistant is, so they stay when the turns behind them go: once something older has no room, or a summary
//! stands for it, they are told with the policy's instructions. Until then they are turns like any other.

use domain::event::Role;
use domain::{Fact, Part, RecordedEvent, Version};

/// How many of a conversation's first events are looked at for them.
pub const OWN_INSTRUCTIONS_EVENTS_MAX: u32 = 16;
/// The part of the room that they may take at most: longer ones are left out like any turn.
pub const OWN_INSTRUCTIONS_PART: u64 = 2;

/// A conversation's own instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnInstructions {
    /// The version of the last of them.
    pub through: Version,
    /// What they say, in their order.
    pub texts: Vec<String>,
}

/// Finds them among a conversation's first events, oldest first: all up to the first message that is somebody's, or that holds
/// more than text.
#[must_use]
pub fn own_instructions(first: impl IntoIterator<Item = RecordedEvent>) -> Option<OwnInstructions> {
    let mut found = OwnInstructions {
        through: Version::ZERO,
        texts: Vec::new(),
    };
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

/// What a message says that has text alone, and some.
fn text_of(parts: Vec<Part>) -> Option<String> {
    let texts = parts.into_iter().map(|part| match part {
        Part::Text(text) => Some(text),
        Part::Refusal(_)
        | Part::Image { .. }
        | Part::File { .. }
        | Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::ProviderItem { .. } => None,
    });
    let texts: Option<Vec<String>> = texts.collect();
    texts
        .map(|texts| texts.join("\n"))
        .filter(|text| !text.trim().is_empty())
}
