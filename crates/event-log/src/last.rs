//! Single messages of the record.

use domain::{ConversationKey, Partition, Position, Sequence};

use crate::error::Unavailable;
use crate::get::{RawMessage, Which};
use crate::message::StoredMessage;
use crate::record::Record;
use crate::topology;

impl Record {
    /// A conversation's last commit as any replica knows it, which may be behind; `None`: it has none.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn last(&self, key: &ConversationKey) -> Result<Option<StoredMessage>, Unavailable> {
        let partition = self.partition_of(key);
        let stream = topology::stream_name(partition);
        let subject = topology::subject(partition, key);
        let last = Which::LastOf(&subject);
        let message = self
            .connection()
            .get(&stream, last, self.deadline())
            .await?;
        Ok(message.map(|message| stored(partition, message)))
    }

    /// A conversation's last commit as the stream's leader knows it: every acknowledged append is seen.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn last_from_leader(
        &self,
        key: &ConversationKey,
    ) -> Result<Option<StoredMessage>, Unavailable> {
        let partition = self.partition_of(key);
        let stream = topology::stream_name(partition);
        let subject = topology::subject(partition, key);
        let last = Which::LastOf(&subject);
        let connection = self.connection();
        let message = connection.get_from_leader(&stream, &last, self.deadline());
        Ok(message.await?.map(|message| stored(partition, message)))
    }

    /// The commit at a position; `None`: erased, or not there yet.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn message_at(
        &self,
        position: Position,
    ) -> Result<Option<StoredMessage>, Unavailable> {
        // The server takes the sequence 0 for none given.
        if position.sequence == Sequence(0) {
            return Ok(None);
        }
        let stream = topology::stream_name(position.partition);
        let at = Which::At(position.sequence.0);
        let message = self.connection().get(&stream, at, self.deadline()).await?;
        Ok(message.map(|message| stored(position.partition, message)))
    }
}

/// A message of a partition's stream.
pub(crate) fn stored(partition: Partition, message: RawMessage) -> StoredMessage {
    StoredMessage {
        position: Position {
            partition,
            sequence: message.sequence,
        },
        message: message.payload,
        trace: message.trace,
    }
}
