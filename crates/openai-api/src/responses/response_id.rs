//! Ids of responses. Both directions need no table: an id contains the conversation, the run and the version of its start.

use domain::{RunId, Version};
use uuid::Uuid;

/// The prefix of ids.
const PREFIX: &str = "resp_";
/// Hexadecimal digits of a run's id and of a version.
const RUN_DIGITS: usize = 32;
const VERSION_DIGITS: usize = 12;

/// What the id of a recorded response contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseId {
    /// The run.
    pub run: RunId,
    /// The version of the event with which the run started.
    pub started: Version,
    /// The conversation, by its id in the API.
    pub conversation: String,
}

impl ResponseId {
    /// The id as clients get it.
    #[must_use]
    pub fn text(&self) -> String {
        let run = self.run.0.simple();
        let (started, conversation) = (self.started.0, &self.conversation);
        format!("{PREFIX}{run}{started:0VERSION_DIGITS$x}_{conversation}")
    }

    /// Reads an id; `None`: no recorded response has such an id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (digits, conversation) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        if digits.len() != RUN_DIGITS + VERSION_DIGITS || !digits.chars().all(is_digit) {
            return None;
        }
        let (run, started) = digits.split_at(RUN_DIGITS);
        Some(Self {
            run: RunId(Uuid::try_parse(run).ok()?),
            started: Version(u64::from_str_radix(started, 16).ok()?),
            conversation: conversation.to_owned(),
        })
    }

    /// An id of a response that is not recorded.
    #[must_use]
    pub fn unrecorded() -> String {
        format!("{PREFIX}{}", Uuid::now_v7().simple())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_were_written() {
        let id = ResponseId {
            run: RunId(Uuid::from_u128(7)),
            started: Version(0x1f_ffff),
            conversation: "conv_channel_1".to_owned(),
        };
        let text = id.text();
        assert_eq!(ResponseId::parse(&text), Some(id));
        for foreign in
            ["", "resp_", "resp_1_conv", &text[1..], &text[..49], &text.replace('f', "F"), &ResponseId::unrecorded()]
        {
            assert_eq!(ResponseId::parse(foreign), None, "{foreign}");
        }
    }
}
