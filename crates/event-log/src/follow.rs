//! Following a partition.

use domain::{ConversationKey, Partition, Position, Sequence, Timestamp};
use futures::{Stream, StreamExt as _};

use crate::error::Unavailable;
use crate::feed::{Feed, FeedItem, FeedMessage};
use crate::headers::{self, TraceHeaders};
use crate::message::StoredMessage;
use crate::record::Record;
use crate::topology;

/// A message of a followed partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedMessage {
    /// The conversation, by the message's subject; `None`: the subject is no conversation's, and an operator must look.
    pub key: Option<ConversationKey>,
    /// The message.
    pub message: StoredMessage,
    /// When the stream stored it, by the server's clock.
    pub stored_at: Timestamp,
    /// How many messages the partition had after it, when it was sent.
    pub pending: u64,
}

impl Record {
    /// A partition's messages after a sequence, each once, in order, for ever. Sequences have holes.
    ///
    /// An error says that the stream was lost, or that an attempt to find it again has failed, at most every quarter of a
    /// second; it goes on by itself after the last message, once the server is back.
    /// It never ends. Dropping it is how to stop.
    pub fn follow(
        &self,
        partition: Partition,
        after: Sequence,
    ) -> impl Stream<Item = Result<FollowedMessage, Unavailable>> + Send + Unpin + use<> {
        let feed = Feed::new(self.clone(), topology::stream_name(partition), after);
        let items = feed.into_stream().filter_map(move |item| {
            std::future::ready(match item {
                FeedItem::Begun => None,
                FeedItem::Message(message) => Some(Ok(followed(partition, message))),
                FeedItem::Lost(unavailable) => Some(Err(unavailable)),
            })
        });
        Box::pin(items)
    }
}

fn followed(partition: Partition, message: FeedMessage) -> FollowedMessage {
    let headers = message.message.headers.as_ref();
    FollowedMessage {
        key: topology::key_of(&message.message.subject),
        message: StoredMessage {
            position: Position {
                partition,
                sequence: message.sequence,
            },
            trace: headers.map_or_else(TraceHeaders::default, headers::trace_of),
            message: message.message.payload,
        },
        stored_at: message.stored_at,
        pending: message.pending,
    }
}
