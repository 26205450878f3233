//! Calls of model servers, logged and metered: a stream of their own, one call a message, kept for a while.
//!
//! No conversation depends on it. What a message holds is the business of `wire::model_call` and `wire::metered_call`.

use std::time::Duration;

use bytes::Bytes;
use domain::{
    ConversationKey, LogId, LoggedCall, MeteredCall, OwnerDigest, Sequence, TenantId, Timestamp,
};
use futures::{Stream, StreamExt as _};
use wire::commit::CorruptCommit;

use crate::connection::Outgoing;
use crate::error::Unavailable;
use crate::feed::{Feed, FeedItem, FeedMessage};
use crate::get::Which;
use crate::headers;
use crate::publish::{self, Ack};
use crate::record::Record;
use crate::topology::{self, PartitionBounds};

/// How long a metered call stays in the stream: projectors that stop for longer miss calls.
pub const METERED_KEPT_FOR: Duration = Duration::from_hours(48);

/// What a message is about, by its subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoggedSubject {
    /// A logged call of a conversation.
    Conversation(ConversationKey),
    /// A metered call of a tenant.
    Usage(TenantId),
    /// Nothing that this program knows.
    Unknown,
}

/// A call as its stream keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedMessage {
    /// What it is about.
    pub subject: LoggedSubject,
    /// Where it stands.
    pub sequence: Sequence,
    /// When the stream stored it, by the server's clock.
    pub stored_at: Timestamp,
    /// The call, as `wire::model_call::encode_logged` or `wire::metered_call::encode_metered` made it.
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

    /// Opens a metered call.
    ///
    /// # Errors
    /// [`CorruptCommit`]: it is none.
    pub fn open_metered(&self) -> Result<MeteredCall, CorruptCommit> {
        wire::metered_call::decode_metered(self.bytes.clone())
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
        bytes: Bytes,
        kept_for: Duration,
    ) -> Result<(), Unavailable> {
        let outgoing = Outgoing {
            subject: topology::logs::subject(key),
            headers: Some(headers::of_passing(&id.to_string(), kept_for)),
            payload: bytes,
        };
        self.publish_call(outgoing).await
    }

    /// Keeps a metered call of a tenant for [`METERED_KEPT_FOR`]; `false`: there is no stream for it. The same id is kept once.
    ///
    /// # Errors
    /// As [`Record::publish_log`].
    pub async fn publish_usage(
        &self,
        tenant: &TenantId,
        call: &MeteredCall,
    ) -> Result<bool, Unavailable> {
        let outgoing = Outgoing {
            subject: topology::logs::usage_subject(tenant, call.owner.as_ref()),
            headers: Some(headers::of_passing(&call.id.to_string(), METERED_KEPT_FOR)),
            payload: wire::metered_call::encode_metered(call),
        };
        match self.publish_call(outgoing).await {
            Ok(()) => Ok(true),
            Err(_) if self.logs_bounds().await?.is_none() => Ok(false),
            Err(unavailable) => Err(unavailable),
        }
    }

    /// The sequence of the last metered call of a tenant, or of one of its owners, as the stream's leader knows it; `None`: it
    /// holds none.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn last_usage(
        &self,
        tenant: &TenantId,
        owner: Option<&OwnerDigest>,
    ) -> Result<Option<Sequence>, Unavailable> {
        if self.logs_bounds().await?.is_none() {
            return Ok(None);
        }
        let subject = topology::logs::usage_subjects(tenant, owner);
        let last = Which::LastOf(&subject);
        let connection = self.connection();
        let last = connection.get_from_leader(topology::logs::STREAM, &last, self.deadline());
        Ok(last.await?.map(|last| last.sequence))
    }

    async fn publish_call(&self, outgoing: Outgoing) -> Result<(), Unavailable> {
        let reply = self.connection().request(outgoing, self.deadline()).await?;
        match publish::read(&reply.payload)? {
            Ack::Stored(_) | Ack::Duplicate(_) => Ok(()),
            Ack::Refused { .. } => Err(Unavailable::new("the stream of calls refuses one")),
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
    let subject = &message.message.subject;
    let conversation = topology::logs::key_of(subject).map(LoggedSubject::Conversation);
    let usage = || topology::logs::metered_tenant_of(subject).map(LoggedSubject::Usage);
    LoggedMessage {
        subject: conversation
            .or_else(usage)
            .unwrap_or(LoggedSubject::Unknown),
        sequence: message.sequence,
        stored_at: message.stored_at,
        bytes: message.message.payload,
    }
}
