//! One archived commit.

use bytes::Bytes;
use domain::{ConversationId, ConversationKey, Partition, Position, Sequence, TenantId, Timestamp};
use event_log::{StoredMessage, TraceHeaders};

use super::{CorruptSegment, corrupt};

/// A message of the record with its conversation and storage time. The commit id is in the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedMessage {
    /// The conversation.
    pub key: ConversationKey,
    /// The message as in the record.
    pub message: StoredMessage,
    /// The storage time by the server's clock.
    pub stored_at: Timestamp,
}

/// The encoding in a block.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct RawMessage {
    #[prost(uint64, tag = "1")]
    sequence: u64,
    #[prost(sfixed64, tag = "2")]
    stored_at_nanos: i64,
    #[prost(string, tag = "3")]
    tenant: String,
    #[prost(string, tag = "4")]
    conversation: String,
    #[prost(string, optional, tag = "5")]
    traceparent: Option<String>,
    #[prost(string, optional, tag = "6")]
    tracestate: Option<String>,
    #[prost(bytes = "bytes", tag = "7")]
    commit: Bytes,
}

impl ArchivedMessage {
    /// Its sequence in the partition.
    #[must_use]
    pub fn sequence(&self) -> Sequence {
        self.message.position.sequence
    }

    pub(super) fn to_raw(&self) -> RawMessage {
        RawMessage {
            sequence: self.sequence().0,
            stored_at_nanos: self.stored_at.0,
            tenant: self.key.tenant.as_str().to_owned(),
            conversation: self.key.conversation.as_str().to_owned(),
            traceparent: self.message.trace.traceparent.clone(),
            tracestate: self.message.trace.tracestate.clone(),
            commit: self.message.message.clone(),
        }
    }

    pub(super) fn from_raw(raw: RawMessage, partition: Partition) -> Result<Self, CorruptSegment> {
        let id = corrupt("block", "has an invalid conversation id");
        Ok(Self {
            key: ConversationKey {
                tenant: TenantId::parse(raw.tenant).map_err(|_| id)?,
                conversation: ConversationId::parse(raw.conversation).map_err(|_| id)?,
            },
            message: StoredMessage {
                position: Position { partition, sequence: Sequence(raw.sequence) },
                message: raw.commit,
                trace: TraceHeaders { traceparent: raw.traceparent, tracestate: raw.tracestate },
            },
            stored_at: Timestamp(raw.stored_at_nanos),
        })
    }
}
