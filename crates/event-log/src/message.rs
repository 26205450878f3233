//! Messages of the record as they are read back.

use bytes::Bytes;
use domain::{Head, Position};
use wire::commit::{self, StoredCommit};

use crate::error::CorruptMessage;
use crate::headers::TraceHeaders;
use crate::topology;

/// A message of the record: a commit, still sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessage {
    /// Where it stands.
    pub position: Position,
    /// The sealed commit.
    pub message: Bytes,
    /// The trace that it was appended under.
    pub trace: TraceHeaders,
}

impl StoredMessage {
    /// Opens the commit.
    ///
    /// # Errors
    /// [`CorruptMessage`], with stream and sequence.
    pub fn open(&self) -> Result<StoredCommit, CorruptMessage> {
        let opened = commit::open(self.message.clone()).map_err(|source| self.corrupt(source))?;
        Ok(StoredCommit {
            position: self.position,
            opened,
        })
    }

    /// Reads only the head that the commit carries.
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
