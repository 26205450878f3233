//! Reads of single commits.

use domain::{ConversationKey, Position, Sequence};
use serde::Serialize;

use crate::connection::get::{MessageQuery, RawMessage};
use crate::connection::read_limit::Source;
use crate::error::Unavailable;
use crate::message::StoredMessage;
use crate::record::Record;
use crate::topology;

impl Record {
    /// A conversation's last commit, from any replica, which may lag; `None`: it has no commit.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn last(&self, key: &ConversationKey) -> Result<Option<StoredMessage>, Unavailable> {
        self.last_of(key, Source::Replica).await
    }

    /// A conversation's last commit, from the stream's leader, which has every acknowledged append.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn last_from_leader(&self, key: &ConversationKey) -> Result<Option<StoredMessage>, Unavailable> {
        self.last_of(key, Source::Leader).await
    }

    /// Reads a message from a stream's leader within the request timeout.
    pub(crate) async fn get_from_leader(
        &self,
        stream: &str,
        query: &impl Serialize,
    ) -> Result<Option<RawMessage>, Unavailable> {
        let connection = self.connection();
        connection.get_from_leader(stream, query, self.deadline()).await
    }

    /// The commit at a position; `None`: erased, or not stored yet.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn message_at(&self, position: Position) -> Result<Option<StoredMessage>, Unavailable> {
        // The server reads the sequence 0 as absent.
        if position.sequence == Sequence(0) {
            return Ok(None);
        }
        let stream = topology::stream_name(position.partition);
        let at = MessageQuery::Sequence(position.sequence.0);
        let message = self.connection().get(&stream, at, self.deadline()).await?;
        Ok(message.map(|message| StoredMessage::of(position.partition, message)))
    }
}
