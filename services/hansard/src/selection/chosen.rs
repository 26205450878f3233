//! A chosen commit, and a stream of them.

use domain::ConversationKey;
use event_log::{FollowedMessage, StoredMessage};
use futures::stream::BoxStream;

/// A message of the record, and the conversation by its subject; `None`: it is under a subject that is no conversation's.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// The conversation.
    pub key: Option<ConversationKey>,
    /// The message.
    pub message: StoredMessage,
}

impl From<FollowedMessage> for Chosen {
    fn from(followed: FollowedMessage) -> Self {
        Self {
            key: followed.key,
            message: followed.message,
        }
    }
}

pub(super) type Messages = BoxStream<'static, anyhow::Result<Chosen>>;
