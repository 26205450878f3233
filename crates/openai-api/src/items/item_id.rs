//! Ids of items. Both directions need no table: an id contains the conversation, the event, its version, and which item of the
//! event it is.

use domain::{EventId, Version};
use uuid::Uuid;

/// Most characters of an item's id that a client sends.
pub const ITEM_ID_CHARS_MAX: usize = 256;

/// Hexadecimal digits of an event's id, of a version and of an ordinal.
const EVENT_DIGITS: usize = 32;
const VERSION_DIGITS: usize = 12;
const ORDINAL_DIGITS: usize = 3;

/// The prefix of the ids of items of a type. Others have `item`.
const PREFIXES: [(&str, &str); 22] = [
    ("message", "msg"),
    ("function_call", "fc"),
    ("function_call_output", "fco"),
    ("reasoning", "rs"),
    ("web_search_call", "ws"),
    ("file_search_call", "fs"),
    ("computer_call", "cu"),
    ("computer_call_output", "cuo"),
    ("code_interpreter_call", "ci"),
    ("image_generation_call", "ig"),
    ("mcp_call", "mcp"),
    ("mcp_list_tools", "mcpl"),
    ("mcp_approval_request", "mcpr"),
    ("mcp_approval_response", "mcpa"),
    ("custom_tool_call", "ctc"),
    ("custom_tool_call_output", "ctco"),
    ("local_shell_call", "lsh"),
    ("shell_call", "sh"),
    ("shell_call_output", "sho"),
    ("apply_patch_call", "apc"),
    ("apply_patch_call_output", "apco"),
    ("compaction", "cmp"),
];

/// Where an item is among those of its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemPlace {
    /// The version of its event.
    pub version: Version,
    /// Its index among the items of the event.
    pub index: usize,
}

/// What the id of an item contains. It is known before the event is recorded: an item of a stream has the id of the recorded item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemId {
    /// The event.
    pub event: EventId,
    /// The version of the event; of an item of a stream, the lowest that it can have.
    pub version: Version,
    /// The index among the items of the event that have the same prefix.
    pub ordinal: usize,
    /// The conversation, by its id in the API. A request may refer to an item without naming the conversation.
    pub conversation: String,
}

impl ItemId {
    /// The id as clients get it, with the prefix of the item's type.
    #[must_use]
    pub fn text(&self, item_type: &str) -> String {
        let prefix = prefix(item_type);
        let event = self.event.0.simple();
        let (version, ordinal, conversation) = (self.version.0, self.ordinal, &self.conversation);
        format!("{prefix}_{event}{version:0VERSION_DIGITS$x}{ordinal:0ORDINAL_DIGITS$x}_{conversation}")
    }

    /// Reads an id that Hansard made; `None`: it is the client's own.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once('_')?;
        let (digits, conversation) = rest.split_once('_')?;
        let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        if digits.len() != EVENT_DIGITS + VERSION_DIGITS + ORDINAL_DIGITS || !digits.chars().all(is_digit) {
            return None;
        }
        let (event, rest) = digits.split_at(EVENT_DIGITS);
        let (version, ordinal) = rest.split_at(VERSION_DIGITS);
        Some(Self {
            event: EventId(Uuid::try_parse(event).ok()?),
            version: Version(u64::from_str_radix(version, 16).ok()?),
            ordinal: usize::from_str_radix(ordinal, 16).ok()?,
            conversation: conversation.to_owned(),
        })
    }

    /// Whether two ids name the same item, in its conversation or in a fork.
    #[must_use]
    pub fn is_same(one: &str, other: &str) -> bool {
        let prefix = |id: &str| id.split_once('_').map(|(prefix, _)| prefix.to_owned());
        match (Self::parse(one), Self::parse(other)) {
            (Some(first), Some(second)) => {
                prefix(one) == prefix(other) && (first.event, first.ordinal) == (second.event, second.ordinal)
            }
            _ => one == other,
        }
    }
}

/// The prefix of the ids of items of a type.
#[must_use]
pub fn prefix(item_type: &str) -> &'static str {
    let found = PREFIXES.iter().find(|(named, _)| *named == item_type);
    found.map_or("item", |(_, prefix)| prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_were_written() {
        let id = ItemId {
            event: EventId(Uuid::from_u128(7)),
            version: Version(0x1f_ffff),
            ordinal: 999,
            conversation: "conv_channel_1".to_owned(),
        };
        for (item_type, prefix) in [("message", "msg_"), ("reasoning", "rs_"), ("new", "item_")] {
            let text = id.text(item_type);
            assert!(text.starts_with(prefix), "{text}");
            assert_eq!(ItemId::parse(&text), Some(id.clone()));
        }
        let text = id.text("message");
        for foreign in ["msg_1", "", "msg_", &text[1..45], &text[..51], "msg_é", "msg_é_1"] {
            assert_eq!(ItemId::parse(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn an_item_is_the_same_in_a_fork_and_at_another_version() {
        let id = |version: u64, ordinal: usize, conversation: &str| ItemId {
            event: EventId(Uuid::from_u128(7)),
            version: Version(version),
            ordinal,
            conversation: conversation.to_owned(),
        };
        let one = id(1, 0, "a").text("message");
        for (other, expected) in [
            (id(2, 0, "b").text("message"), true),
            (id(1, 1, "a").text("message"), false),
            (id(1, 0, "a").text("reasoning"), false),
            ("msg_1".to_owned(), false),
        ] {
            assert_eq!(ItemId::is_same(&one, &other), expected, "{other}");
        }
        assert!(ItemId::is_same("msg_1", "msg_1"));
    }
}
