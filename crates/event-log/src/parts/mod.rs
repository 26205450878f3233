//! The parts of runs: streams of their own, kept for a while, one batch of parts a message.
//!
//! A run's subject is its order and its fence: every batch names the one that it follows. What a batch holds is the
//! business of `wire::run`.

mod live;
mod publish;
mod read;

use bytes::Bytes;
use domain::{ConversationKey, Partition, RunId, RunPart, Sequence, Timestamp};

pub use live::{LiveParts, LivePartsItem};
pub use publish::PartsOutcome;
pub use read::{PartsBounds, PartsPage};

use crate::error::CorruptMessage;
use crate::get::RawMessage;
use crate::record::Record;
use crate::topology;

/// A batch of a run's parts, as `wire::run::encode_batch` made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredParts {
    /// The partition of its run's conversation, whose stream of parts it stands in.
    pub partition: Partition,
    /// Where it stands there.
    pub sequence: Sequence,
    /// When it was stored, by the server's clock.
    pub stored_at: Timestamp,
    /// The batch.
    pub bytes: Bytes,
}

impl StoredParts {
    /// Opens the batch: its parts, one at least.
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

    fn of(partition: Partition, message: RawMessage) -> Self {
        Self {
            partition,
            sequence: message.sequence,
            stored_at: message.stored_at,
            bytes: message.payload,
        }
    }
}

/// Where a run's parts lie.
#[derive(Debug)]
struct PartsPlace {
    partition: Partition,
    stream: String,
    subject: String,
}

impl Record {
    fn parts_place(&self, key: &ConversationKey, run: RunId) -> PartsPlace {
        let partition = self.partition_of(key);
        PartsPlace {
            partition,
            stream: topology::parts_stream_name(partition),
            subject: topology::parts_subject(partition, key, run),
        }
    }
}
