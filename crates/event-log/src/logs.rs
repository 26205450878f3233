//! Logged and metered calls of model servers: an own stream, one call per message, kept for a limited time.
//!
//! No conversation depends on it. `wire::model_call` and `wire::metered_call` define the messages.

use std::time::Duration;

use bytes::Bytes;
use domain::{ConversationKey, LogId, LoggedCall, MeteredCall, OwnerDigest, Sequence, TenantId, Timestamp};
use futures::Stream;
use wire::commit::CorruptCommit;

use crate::connection::Outgoing;
use crate::consumer::ConsumedMessage;
use crate::feed::Feed;
use crate::get::MessageQuery;
use crate::publish::{self, Ack};
use crate::{PartitionBounds, Record, Unavailable, headers, topology};

/// How long the stream keeps a metered call: a projector that stops for longer misses calls.
pub const METERED_RETENTION: Duration = Duration::from_hours(48);

/// The kind of a message, by its subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoggedSubject {
    /// A logged call of a conversation.
    Conversation(ConversationKey),
    /// A metered call of a tenant.
    Usage(TenantId),
    /// A subject that this version does not know.
    Unknown,
}

impl LoggedSubject {
    /// The tenant; `None`: this version does not know the subject.
    #[must_use]
    pub fn tenant(&self) -> Option<&TenantId> {
        match self {
            Self::Conversation(key) => Some(&key.tenant),
            Self::Usage(tenant) => Some(tenant),
            Self::Unknown => None,
        }
    }
}

/// A stored call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedMessage {
    /// Its kind.
    pub subject: LoggedSubject,
    /// Its sequence.
    pub sequence: Sequence,
    /// When the stream stored it, by the server's clock.
    pub stored_at: Timestamp,
    /// The call as encoded by `wire::model_call::encode_logged` or `wire::metered_call::encode_metered`.
    pub bytes: Bytes,
}

impl LoggedMessage {
    /// Decodes a logged call.
    ///
    /// # Errors
    /// [`CorruptCommit`]: not such a call.
    pub fn open(&self) -> Result<LoggedCall, CorruptCommit> {
        wire::model_call::decode_logged(self.bytes.clone())
    }

    /// Decodes a metered call.
    ///
    /// # Errors
    /// [`CorruptCommit`]: not such a call.
    pub fn open_metered(&self) -> Result<MeteredCall, CorruptCommit> {
        wire::metered_call::decode_metered(self.bytes.clone())
    }
}

impl Record {
    /// Stores a logged call of a conversation for `kept_for`, in whole seconds, at least one. An id is stored once.
    ///
    /// # Errors
    /// [`Unavailable`]: it may be stored anyway. Also when the server had no room for the stream.
    pub async fn publish_log(
        &self,
        key: &ConversationKey,
        id: LogId,
        bytes: Bytes,
        kept_for: Duration,
    ) -> Result<(), Unavailable> {
        let outgoing = Outgoing {
            subject: topology::logs::subject(key),
            headers: Some(headers::with_ttl(&id.to_string(), kept_for)),
            payload: bytes,
        };
        self.publish_call(outgoing).await
    }

    /// Stores a metered call of a tenant for [`METERED_RETENTION`]; `false`: the stream does not exist. An id is stored once.
    ///
    /// # Errors
    /// Same as [`Record::publish_log`].
    pub async fn publish_usage(&self, tenant: &TenantId, call: &MeteredCall) -> Result<bool, Unavailable> {
        let outgoing = Outgoing {
            subject: topology::logs::usage_subject(tenant, call.owner.as_ref()),
            headers: Some(headers::with_ttl(&call.id.to_string(), METERED_RETENTION)),
            payload: wire::metered_call::encode_metered(call),
        };
        match self.publish_call(outgoing).await {
            Ok(()) => Ok(true),
            Err(_) if self.logs_bounds().await?.is_none() => Ok(false),
            Err(unavailable) => Err(unavailable),
        }
    }

    /// The sequence of the last metered call of a tenant, or of one of its owners, from the stream's leader; `None`: no call.
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
        let last = self.get_from_leader(topology::logs::STREAM, &MessageQuery::LastOfSubject(&subject)).await?;
        Ok(last.map(|last| last.sequence))
    }

    async fn publish_call(&self, outgoing: Outgoing) -> Result<(), Unavailable> {
        let reply = self.connection().request(outgoing, self.deadline()).await?;
        match publish::read(&reply.payload)? {
            Ack::Stored(_) | Ack::Duplicate(_) => Ok(()),
            Ack::Refused { .. } => Err(Unavailable::new("the stream of calls rejected a call")),
        }
    }

    /// The first and last sequence of the stream of calls, from its leader; `None`: the stream does not exist.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn logs_bounds(&self) -> Result<Option<PartitionBounds>, Unavailable> {
        let stream = topology::logs::STREAM;
        let info = topology::info(self.connection(), stream, self.deadline()).await?;
        Ok(info.map(|info| info.state.bounds()))
    }

    /// The calls after a sequence, each once, in order. Sequences have gaps. Errors as in [`Record::follow`]. It never ends; drop it
    /// to stop.
    pub fn follow_logs(
        &self,
        after: Sequence,
    ) -> impl Stream<Item = Result<LoggedMessage, Unavailable>> + Send + Unpin + use<> {
        let feed = Feed::new(self.clone(), topology::logs::STREAM.to_owned(), after);
        feed.into_stream(logged)
    }
}

fn logged(message: ConsumedMessage) -> LoggedMessage {
    let subject = &message.message.subject;
    let conversation = topology::logs::key_of(subject).map(LoggedSubject::Conversation);
    let usage = || topology::logs::metered_tenant_of(subject).map(LoggedSubject::Usage);
    LoggedMessage {
        subject: conversation.or_else(usage).unwrap_or(LoggedSubject::Unknown),
        sequence: message.sequence,
        stored_at: message.stored_at,
        bytes: message.message.payload,
    }
}
