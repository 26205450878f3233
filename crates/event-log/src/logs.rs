//! Logged calls of model servers: a stream of their own, one call a message, kept for a while.
//!
//! Nothing depends on it. What a message holds is the business of `wire::model_call`.

use std::time::Duration;

use bytes::Bytes;
use domain::{ConversationKey, LogId, LoggedCall, Sequence, Timestamp};
use futures::{Stream, StreamExt as _};
use wire::commit::CorruptCommit;

use crate::connection::Outgoing;
use crate::error::Unavailable;
use crate::feed::{Feed, FeedItem, FeedMessage};
use crate::headers;
use crate::publish::{self, Ack};
use crate::record::{PartitionBounds, Record};
use crate::topology;

/// A logged call as its stream keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedMessage {
    /// The conversation, by the message's subject; `None`: the subject is no conversation's.
    pub key: Option<ConversationKey>,
    /// Where it stands.
    pub sequence: Sequence,
    /// When the stream stored it, by the server's clock.
    pub stored_at: Timestamp,
    /// The call, as `wire::model_call::encode_logged` made it.
    pub bytes: Bytes,
}

impl LoggedMessage {
    /// Opens the call.
    ///
    /// # Errors
    /// [`CorruptCommit`]: it is none.
    pub fn open(&self) -> Result<LoggedCall, CorruptCommit> {
        wire::model_call::decode_logged(self.bytes.clone())
    }
}

impl Record {
    /// Keeps a logged call of a conversation for `kept_for`, in whole seconds, one at least. The same id is kept once.
    ///
    /// # Errors
    /// [`Unavailable`]: it may be kept all the same. Also where the server had no room for the stream.
    pub async fn publish_log(
        &self,
        key: &ConversationKey,
        id: LogId,
        (bytes, kept_for): (Bytes, Duration),
    ) -> Result<(), Unavailable> {
        let outgoing = Outgoing {
            subject: topology::logs::subject(key),
            headers: Some(headers::of_passing(&id.to_string(), kept_for)),
            payload: bytes,
        };
        let reply = self.connection().request(outgoing, self.deadline()).await?;
        match publish::read(&reply.payload)? {
            Ack::Stored(_) | Ack::Duplicate(_) => Ok(()),
            Ack::Refused { .. } => Err(Unavailable::new("the stream of logged calls refuses one")),
        }
    }

    /// What the stream of logged calls holds now, as its leader says; `None`: there is no such stream.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn logs_bounds(&self) -> Result<Option<PartitionBounds>, Unavailable> {
        let stream = topology::logs::STREAM;
        let info = topology::info(self.connection(), stream, self.deadline()).await?;
        Ok(info.map(|info| info.state.bounds()))
    }

    /// The logged calls after a sequence, each once, in order, for ever. Sequences have holes. Errors are told as
    /// [`Record::follow`] tells them. Dropping it is how to stop.
    pub fn follow_logs(
        &self,
        after: Sequence,
    ) -> impl Stream<Item = Result<LoggedMessage, Unavailable>> + Send + Unpin + use<> {
        let feed = Feed::new(self.clone(), topology::logs::STREAM.to_owned(), after);
        let items = feed.into_stream().filter_map(|item| {
            std::future::ready(match item {
                FeedItem::Begun => None,
                FeedItem::Message(message) => Some(Ok(logged(message))),
                FeedItem::Lost(unavailable) => Some(Err(unavailable)),
            })
        });
        Box::pin(items)
    }
}

fn logged(message: FeedMessage) -> LoggedMessage {
    LoggedMessage {
        key: topology::logs::key_of(&message.message.subject),
        sequence: message.sequence,
        stored_at: message.stored_at,
        bytes: message.message.payload,
    }
}
