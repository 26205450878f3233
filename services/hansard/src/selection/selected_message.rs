//! A selected message of the record, and a stream of them.

use domain::ConversationKey;
use event_log::{FollowedMessage, StoredMessage};
use futures::stream::BoxStream;

/// A message of the record and the conversation of its subject; `None`: the subject is not that of a conversation.
#[derive(Debug, Clone)]
pub(crate) struct SelectedMessage {
    /// The conversation.
    pub(crate) key: Option<ConversationKey>,
    pub(crate) message: StoredMessage,
}

impl From<FollowedMessage> for SelectedMessage {
    fn from(followed: FollowedMessage) -> Self {
        Self {
            key: followed.key,
            message: followed.message,
        }
    }
}

pub(super) type Messages = BoxStream<'static, anyhow::Result<SelectedMessage>>;
