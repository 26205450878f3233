//! A conversation as readers see it.

use crate::head::Head;
use crate::id::{ChannelId, ConversationId, SessionId, TenantId, UserId};
use crate::json::JsonText;
use crate::position::{Position, Version};
use crate::time::Timestamp;
use crate::violation::{Violation, ViolationReason};

/// Where a fork leaves the conversation that it goes on from.
///
/// The fork's first event has the version after it: together they read as one dense history.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ForkPoint {
    /// The conversation, of the same tenant and agent.
    pub conversation: ConversationId,
    /// The last version that the fork shares.
    pub version: Version,
    /// How many conversations stand behind the fork, one behind the other; 1 to [`crate::bounds::FORK_DEPTH_MAX`].
    pub depth: u32,
}

/// Who a conversation belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A verified user.
    User(UserId),
    /// An anonymous session.
    Session(SessionId),
    /// A chat of a messaging channel: the owner of histories under a caller's key. No frontend can be one.
    Channel(ChannelId),
}

impl Owner {
    /// Whether it is a channel.
    #[must_use]
    pub fn is_channel(&self) -> bool {
        matches!(self, Self::Channel(_))
    }

    /// Checks that a conversation with this id can have this owner: the ids with the prefix
    /// [`ConversationId::HISTORY_PREFIX`], and no others, are of channels.
    ///
    /// # Errors
    /// [`ViolationReason::Reserved`] without a field.
    pub fn check_id(&self, id: &ConversationId) -> Result<(), Violation> {
        let prefix = ConversationId::HISTORY_PREFIX;
        let rule = match (self.is_channel(), id.is_history()) {
            (true, true) | (false, false) => return Ok(()),
            (false, true) => {
                format!("begins with `{prefix}`, which is reserved: choose another id")
            }
            (true, false) => format!("does not begin with `{prefix}`, as the ids of channels do"),
        };
        Err(Violation::new(ViolationReason::Reserved, rule))
    }
}

/// What may be done with a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Open for events.
    Active,
    /// Kept, closed for events until restored.
    Archived,
    /// Gone for good; only its tombstone stands.
    Erased,
}

/// Where the client was when the conversation began. All of it is optional.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ClientContext {
    /// The page that the client was on.
    pub page_url: Option<String>,
    /// The page before it.
    pub referrer: Option<String>,
    /// The client's user agent.
    pub user_agent: Option<String>,
    /// The client's locale: a BCP 47 tag.
    pub locale: Option<String>,
    /// The client's timezone: an IANA name.
    pub timezone: Option<String>,
    /// Whatever else the client told: a JSON object.
    pub custom_metadata: Option<JsonText>,
}

/// A conversation's present state, without its events: a row of the read model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// Whose it is.
    pub tenant: TenantId,
    /// Its id.
    pub id: ConversationId,
    /// The head after its last commit.
    pub head: Head,
    /// Where its last commit stands in the record.
    pub position: Position,
    /// When its first commit was recorded.
    pub created_at: Timestamp,
    /// Its title.
    pub title: Option<String>,
    /// Its metadata: a JSON object.
    pub metadata: Option<JsonText>,
    /// Where the client was when it began.
    pub client_context: ClientContext,
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
        check(&channel, "x", reserved);
        for owner in [&session, &user] {
            check(owner, "x", None);
            check(owner, "history:x", reserved);
        }
    }
}
