//! Ids of items. Both directions need no table: an id contains the event, its version and the index of the item.

use domain::{EventId, Version};
use uuid::Uuid;

/// Most characters of an item's id that a client sends.
pub const ITEM_ID_CHARS_MAX: usize = 256;

/// Hexadecimal digits of an event's id, of a version and of an index.
const EVENT_DIGITS: usize = 32;
const VERSION_DIGITS: usize = 12;
const INDEX_DIGITS: usize = 3;

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

/// Where an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemId {
    /// The version of its event.
    pub version: Version,
    /// Its index among the items of the event.
    pub index: usize,
    /// The event.
    pub event: EventId,
}

impl ItemId {
    /// The id as clients get it, with the prefix of the item's type.
    #[must_use]
    pub fn text(&self, item_type: &str) -> String {
        let found = PREFIXES.iter().find(|(named, _)| *named == item_type);
        let prefix = found.map_or("item", |(_, prefix)| prefix);
        let event = self.event.0.simple();
        let (version, index) = (self.version.0, self.index);
        format!("{prefix}_{event}{version:0VERSION_DIGITS$x}{index:0INDEX_DIGITS$x}")
    }

    /// Reads an id that Hansard made; `None`: it is the client's own.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (_, digits) = text.rsplit_once('_')?;
        let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        if digits.len() != EVENT_DIGITS + VERSION_DIGITS + INDEX_DIGITS
            || !digits.chars().all(is_digit)
        {
            return None;
        }
        let (event, rest) = digits.split_at(EVENT_DIGITS);
        let (version, index) = rest.split_at(VERSION_DIGITS);
        Some(Self {
            version: Version(u64::from_str_radix(version, 16).ok()?),
            index: usize::from_str_radix(index, 16).ok()?,
            event: EventId(Uuid::try_parse(event).ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_were_written() {
        let id = ItemId {
            event: EventId(Uuid::from_u128(7)),
            version: Version(0x1f_ffff),
            index: 999,
        };
        for (item_type, prefix) in [("message", "msg_"), ("reasoning", "rs_"), ("new", "item_")] {
            let text = id.text(item_type);
            assert!(text.starts_with(prefix), "{text}");
            assert_eq!(ItemId::parse(&text), Some(id));
        }
        for foreign in ["msg_1", "", "msg_", &id.text("message")[1..45], "msg_é"] {
            assert_eq!(ItemId::parse(foreign), None, "{foreign}");
        }
    }
}
