//! The owner of a conversation.

use crate::id::{ChannelId, ConversationId, SessionId, UserId};
use crate::violation::{Violation, ViolationReason};

/// The owner of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A verified user.
    User(UserId),
    /// An anonymous session.
    Session(SessionId),
    /// A chat of a messaging channel: the owner of histories under a caller's key. A frontend cannot be one.
    Channel(ChannelId),
}

impl Owner {
    /// Whether it is a channel.
    #[must_use]
    pub fn is_channel(&self) -> bool {
        matches!(self, Self::Channel(_))
    }

    /// Checks that a conversation with this id can have this owner. Only channels own ids with the prefix
    /// [`ConversationId::HISTORY_PREFIX`], and they own no others but documents, which any owner can have.
    ///
    /// # Errors
    /// [`ViolationReason::Reserved`] without a field.
    pub fn check_id(&self, id: &ConversationId) -> Result<(), Violation> {
        if id.is_document() {
            return Ok(());
        }
        let prefix = ConversationId::HISTORY_PREFIX;
        let rule = match (self.is_channel(), id.is_history()) {
            (true, true) | (false, false) => return Ok(()),
            (false, true) => {
                format!("begins with `{prefix}`, which is reserved: choose another id")
            }
            (true, false) => format!("does not begin with `{prefix}`, which a channel's id needs"),
        };
        Err(Violation::new(ViolationReason::Reserved, rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_are_of_channels_alone() {
        let channel = Owner::Channel(ChannelId::parse("0".repeat(64)).unwrap());
        let session = Owner::Session(SessionId::parse("s").unwrap());
        let user = Owner::User(UserId::parse("u").unwrap());
        let check = |owner: &Owner, id: &str, expected: Option<ViolationReason>| {
            let checked = owner.check_id(&ConversationId::parse(id).unwrap());
            assert_eq!(checked.err().map(|violation| violation.reason), expected);
        };
        let reserved = Some(ViolationReason::Reserved);
        check(&channel, "history:x", None);
        for owner in [&channel, &session, &user] {
            check(owner, "document:x", None);
        }
        check(&channel, "x", reserved);
        for owner in [&session, &user] {
            check(owner, "x", None);
            check(owner, "history:x", reserved);
        }
    }
}
