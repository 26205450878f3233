//! Logged and metered calls of model servers, and corrections of usage: an own stream, one per message, kept for a limited time.
//!
//! No conversation depends on it. `wire::model_call`, `wire::metered_call` and `wire::usage_correction` define the messages.

use std::time::Duration;

use bytes::Bytes;
use domain::{
    ConversationKey, CorrectedCounts, LogId, LoggedCall, MeteredCall, OwnerDigest, Sequence, TenantId, Timestamp,
    UsageCorrection,
};
use futures::Stream;
use wire::commit::CorruptCommit;

use crate::connection::Outgoing;
use crate::connection::consumer::ConsumedMessage;
use crate::connection::get::MessageQuery;
use crate::connection::publish::{self, Ack};
use crate::error::Unavailable;
use crate::headers;
use crate::read::feed::Feed;
use crate::record::Record;
use crate::topology;
use crate::topology::PartitionBounds;

/// How long the stream keeps a metered call: a projector that stops for longer misses calls.
pub const METERED_RETENTION: Duration = Duration::from_hours(48);

/// The kind of a message, by its subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoggedSubject {
    /// A logged call of a conversation.
    Conversation(ConversationKey),
    /// A metered call of a tenant.
    Usage(TenantId),
    /// A correction of a tenant's usage.
    Correction(TenantId),
    /// A subject that this version does not know.
    Unknown,
}

impl LoggedSubject {
    /// The tenant; `None`: this version does not know the subject.
    #[must_use]
    pub fn tenant(&self) -> Option<&TenantId> {
        match self {
            Self::Conversation(key) => Some(&key.tenant),
            Self::Usage(tenant) | Self::Correction(tenant) => Some(tenant),
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
    /// The call or correction, as the module of its kind in `wire` encodes it.
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

    /// Decodes a correction of usage.
    ///
    /// # Errors
    /// [`CorruptCommit`]: not such a correction.
    pub fn open_correction(&self) -> Result<UsageCorrection, CorruptCommit> {
        wire::usage_correction::decode_correction(self.bytes.clone())
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
        self.publish_if_stream(outgoing).await
    }

    /// Stores a correction of a tenant's usage for [`METERED_RETENTION`]; `false`: the stream does not exist. An id of a tenant is
    /// stored once within the stream's duplicate window; the rows count it once.
    ///
    /// # Errors
    /// Same as [`Record::publish_log`].
    pub async fn publish_correction(
        &self,
        tenant: &TenantId,
        correction: &UsageCorrection,
    ) -> Result<bool, Unavailable> {
        let owner = match &correction.counts {
            CorrectedCounts::ModelCalls { owner, .. } => owner.as_ref(),
            CorrectedCounts::Messages { .. } => None,
        };
        // Callers choose the id, and tenants share the stream.
        let id = format!("{tenant}.{}", correction.id);
        let outgoing = Outgoing {
            subject: topology::logs::correction_subject(tenant, owner),
            headers: Some(headers::with_ttl(&id, METERED_RETENTION)),
            payload: wire::usage_correction::encode_correction(correction),
        };
        self.publish_if_stream(outgoing).await
    }

    /// The sequence of the last metered call or correction of a tenant, or of one of its owners, from the stream's leader; `None`:
    /// there is none.
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
        let mut newest = None;
        for subject in topology::logs::usage_subjects(tenant, owner) {
            let last = self.get_from_leader(topology::logs::STREAM, &MessageQuery::LastOfSubject(&subject)).await?;
            newest = newest.max(last.map(|last| last.sequence));
        }
        Ok(newest)
    }

    /// Publishes a message; `false`: the stream does not exist.
    async fn publish_if_stream(&self, outgoing: Outgoing) -> Result<bool, Unavailable> {
        match self.publish_call(outgoing).await {
            Ok(()) => Ok(true),
            Err(_) if self.logs_bounds().await?.is_none() => Ok(false),
            Err(unavailable) => Err(unavailable),
        }
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
    let correction = || topology::logs::corrected_tenant_of(subject).map(LoggedSubject::Correction);
    LoggedMessage {
        subject: conversation.or_else(usage).or_else(correction).unwrap_or(LoggedSubject::Unknown),
        sequence: message.sequence,
        stored_at: message.stored_at,
        bytes: message.message.payload,
    }
}
