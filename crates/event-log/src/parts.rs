//! The parts of runs: separate streams, kept for a limited time, one batch of parts per message.
//!
//! A batch names the batch that it follows in its run's subject, so batches are ordered and a second writer is detected.
//! `wire::run` defines the contents of a batch.

mod live;
mod publish;
mod read;

use bytes::Bytes;
use domain::{ConversationKey, Partition, RunId, RunPart, Sequence, Timestamp};

pub use live::{LiveParts, LivePartsItem};
pub use publish::PartsOutcome;
pub use read::{PartsBounds, PartsPage};

use crate::append::Route;
use crate::connection::get::RawMessage;
use crate::error::{CorruptMessage, Unavailable};
use crate::record::Record;
use crate::topology;

/// A batch of a run's parts, encoded by `wire::run::encode_batch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredParts {
    /// The partition of the run's conversation.
    pub partition: Partition,
    /// The sequence in the partition's stream of parts.
    pub sequence: Sequence,
    /// The storage time by the server's clock.
    pub stored_at: Timestamp,
    /// The batch.
    pub bytes: Bytes,
}

impl StoredParts {
    /// Decodes the batch: at least one part.
    ///
    /// # Errors
    /// [`CorruptMessage`], with stream and sequence.
    pub fn open(&self) -> Result<Vec<RunPart>, CorruptMessage> {
        wire::run::decode_batch(self.bytes.clone()).map_err(|source| CorruptMessage {
            stream: topology::parts_stream_name(self.partition),
            sequence: self.sequence,
            source,
        })
    }

    fn from_message(partition: Partition, message: RawMessage) -> Self {
        Self { partition, sequence: message.sequence, stored_at: message.stored_at, bytes: message.payload }
    }
}

impl Record {
    async fn parts_route(&self, key: &ConversationKey, run: RunId) -> Result<Route, Unavailable> {
        let partition = self.partition_of(key).await?;
        Ok(Route {
            partition,
            stream: topology::parts_stream_name(partition),
            subject: topology::parts_subject(partition, key, run),
        })
    }
}
