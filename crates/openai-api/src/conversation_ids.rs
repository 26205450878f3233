//! Ids and owners of conversations that the OpenAI APIs create.
//!
//! A conversation of an end user is owned by that user. One without an end user is owned by a channel of its own, so that no
//! frontend can own it. The record requires the prefix `history:` of a channel's conversations; the API leaves it out:
//! `conv_channel_1` of the API is `history:conv_channel_1` of the record. All other ids are equal in both.

use domain::{AgentId, ChannelId, ConversationId, Owner, UserId, Violation};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// The prefix of ids of conversations without an end user, in the API.
const CHANNEL_PREFIX: &str = "conv_channel_";
/// The first part of the input for the id of a channel.
const CHANNEL_SCHEME: &str = "hansard.openai.channel.v1";

/// The id and the owner of a new conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedId {
    /// Its id in the record.
    pub id: ConversationId,
    /// Its owner.
    pub owner: Owner,
}

impl OwnedId {
    /// A conversation of an agent, of an end user or of none; `id` must be unique, and equal in all retries.
    ///
    /// # Errors
    /// Never: the derived texts are valid ids.
    pub fn of(agent: &AgentId, user: Option<&UserId>, id: Uuid) -> Result<Self, Violation> {
        let (name, owner) = if let Some(user) = user {
            let name = format!("{}{}", ConversationId::ISSUED_PREFIX, id.simple());
            (name, Owner::User(user.clone()))
        } else {
            let name = format!("{CHANNEL_PREFIX}{}", id.simple());
            let digest = Sha256::digest(format!("{CHANNEL_SCHEME}\0{agent}\0{name}"));
            let channel = ChannelId::parse(hex::encode(digest));
            (name, Owner::Channel(channel?))
        };
        let id = record_id(&name)?;
        Ok(Self { id, owner })
    }
}

/// The id in the record of a conversation with this id in the API.
///
/// # Errors
/// It is not a valid id.
pub fn record_id(id: &str) -> Result<ConversationId, Violation> {
    let prefix = if id.starts_with(CHANNEL_PREFIX) { ConversationId::HISTORY_PREFIX } else { "" };
    ConversationId::parse(format!("{prefix}{id}"))
}

/// The id in the API of a conversation with this id in the record.
#[must_use]
pub fn api_id(id: &ConversationId) -> &str {
    let without_prefix = id.as_str().strip_prefix(ConversationId::HISTORY_PREFIX);
    let of_channel = without_prefix.filter(|id| id.starts_with(CHANNEL_PREFIX));
    of_channel.unwrap_or(id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_mapped_back_and_forth() {
        for (api, record) in [
            ("conv_1", "conv_1"),
            ("conv_channel_1", "history:conv_channel_1"),
            ("history:telegram", "history:telegram"),
            ("support-1", "support-1"),
        ] {
            assert_eq!(record_id(api).unwrap().as_str(), record);
            assert_eq!(api_id(&ConversationId::parse(record).unwrap()), api);
        }
        for invalid in ["", "conv 1", &"x".repeat(129), &format!("conv_channel_{}", "x".repeat(108))] {
            assert!(record_id(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn an_owner_fits_its_conversation() {
        let agent = AgentId::parse("support").unwrap();
        let of = |user: Option<&str>, id: u128| {
            let user = user.map(|user| UserId::parse(user).unwrap());
            OwnedId::of(&agent, user.as_ref(), Uuid::from_u128(id)).unwrap()
        };
        let (ada, one, two) = (of(Some("ada"), 1), of(None, 1), of(None, 2));
        for new in [&ada, &one, &two] {
            assert_eq!(new.owner.check_id(&new.id), Ok(()));
            assert!(api_id(&new.id).starts_with(ConversationId::ISSUED_PREFIX));
            assert!(new.id.is_issued() || new.id.is_history());
        }
        assert_eq!(ada.owner, Owner::User(UserId::parse("ada").unwrap()));
        assert!(one.owner.is_channel() && one.owner != two.owner);
        assert_eq!(one, of(None, 1));
    }
}
