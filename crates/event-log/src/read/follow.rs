//! Follows a partition.

use domain::{ConversationKey, Partition, Position, Sequence, Timestamp};
use futures::Stream;

use crate::connection::consumer::ConsumedMessage;
use crate::error::Unavailable;
use crate::headers;
use crate::headers::TraceHeaders;
use crate::message::StoredMessage;
use crate::read::feed::Feed;
use crate::record::Record;
use crate::topology;

/// A message of a followed partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedMessage {
    /// The conversation in the message's subject; `None`: the subject is invalid, and an operator must inspect it.
    pub key: Option<ConversationKey>,
    /// The message.
    pub message: StoredMessage,
    /// When the stream stored it, by the server's clock.
    pub stored_at: Timestamp,
    /// How many messages of the partition followed when it was sent.
    pub pending: u64,
    /// Whether its tenant is one that the reader leaves out, because its rows are in another database.
    pub is_of_other: bool,
}

impl FollowedMessage {
    /// Whether the message only closes a subject while partitions are added: it is no commit.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.message.message.is_empty()
    }

    /// Whether the reader has nothing to do for the message, except to advance.
    #[must_use]
    pub fn is_skipped(&self) -> bool {
        self.is_closing() || self.is_of_other
    }
}

impl Record {
    /// A partition's messages after a sequence, each once, in order. Sequences have gaps.
    ///
    /// An error means that the consumer was lost, or that an attempt to recreate it failed; at most four errors per second. The stream
    /// continues after the last message once the server is back. It never ends; drop it to stop.
    pub fn follow(
        &self,
        partition: Partition,
        after: Sequence,
    ) -> impl Stream<Item = Result<FollowedMessage, Unavailable>> + Send + Unpin + use<> {
        let feed = Feed::new(self.clone(), topology::stream_name(partition), after);
        feed.into_stream(move |message| followed(partition, message))
    }
}

fn followed(partition: Partition, message: ConsumedMessage) -> FollowedMessage {
    let headers = message.message.headers.as_ref();
    FollowedMessage {
        key: topology::key_of(&message.message.subject),
        message: StoredMessage {
            position: Position { partition, sequence: message.sequence },
            trace: headers.map_or_else(TraceHeaders::default, headers::trace_of),
            message: message.message.payload,
        },
        stored_at: message.stored_at,
        pending: message.pending,
        is_of_other: false,
    }
}
