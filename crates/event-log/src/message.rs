//! Commits as they are read from the record.

use bytes::Bytes;
use domain::{Head, Partition, Position};
use wire::commit::{self, StoredCommit};

use crate::connection::get::RawMessage;
use crate::error::CorruptMessage;
use crate::headers::TraceHeaders;
use crate::topology;

/// A message of the record: a sealed commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessage {
    /// Its position.
    pub position: Position,
    /// The sealed commit.
    pub message: Bytes,
    /// The trace context of its append.
    pub trace: TraceHeaders,
}

impl StoredMessage {
    /// A message of the stream of a partition.
    pub(crate) fn of(partition: Partition, message: RawMessage) -> Self {
        Self {
            position: Position { partition, sequence: message.sequence },
            message: message.payload,
            trace: message.trace,
        }
    }

    /// Decodes the commit.
    ///
    /// # Errors
    /// [`CorruptMessage`], with stream and sequence.
    pub fn open(&self) -> Result<StoredCommit, CorruptMessage> {
        let opened = commit::open(self.message.clone()).map_err(|source| self.corrupt(source))?;
        Ok(StoredCommit { position: self.position, opened })
    }

    /// Decodes only the commit's head.
    ///
    /// # Errors
    /// [`CorruptMessage`], with stream and sequence.
    pub fn open_head(&self) -> Result<Head, CorruptMessage> {
        commit::open_head(self.message.clone()).map_err(|source| self.corrupt(source))
    }

    fn corrupt(&self, source: commit::CorruptCommit) -> CorruptMessage {
        CorruptMessage {
            stream: topology::stream_name(self.position.partition),
            sequence: self.position.sequence,
            source,
        }
    }
}
