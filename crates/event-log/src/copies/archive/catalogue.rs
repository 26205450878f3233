//! Reads and conditional writes of the archive catalogue's stream.

use std::collections::BTreeMap;

use bytes::Bytes;
use domain::{Partition, Sequence};
use thiserror::Error;
use tokio::time::Instant;
use uuid::Uuid;

use super::entry::{ArchiveEntry, CataloguedEntry};
use crate::connection::get::{MessageQuery, RawMessage};
use crate::error::{RecordError, Unavailable};
use crate::group_commit::batch::{BATCH_MESSAGES_MAX, BatchRequest, From};
use crate::put::Put;
use crate::record::Record;
use crate::topology::{self, ARCHIVE_PREFIX, ARCHIVE_STREAM, stream_config};

/// Maximum bytes of one batch.
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Errors of reading and writing the catalogue.
#[derive(Debug, Error)]
pub enum CatalogueError {
    /// The record does not answer; retry.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// A message is not a catalogue entry. An operator must inspect it.
    #[error("message {sequence} of stream {ARCHIVE_STREAM} is not a catalogue entry")]
    Corrupt {
        /// The sequence of the message.
        sequence: Sequence,
    },
    /// Another process changed the entry; read it again.
    #[error("segment {segment} was changed by another process: run the command again")]
    Superseded {
        /// The segment.
        segment: Uuid,
    },
}

/// The revision of the whole catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogueRevision {
    last: Sequence,
    entries: u64,
}

impl Record {
    /// Creates the catalogue unless it exists, with the replicas and the placement of partition 0. Every writer does so when it
    /// starts.
    ///
    /// # Errors
    /// [`RecordError`].
    pub async fn ensure_archive(&self) -> Result<(), RecordError> {
        let config = self.config_of_streams().await?;
        let (identity, deadline) = (self.identity(), self.deadline());
        let stream = stream_config::archive(identity, &config);
        topology::ensure_of_record(self.connection(), stream, identity, deadline).await
    }

    /// Whether the catalogue has an entry, so that parts of the record may be in an archive. Cheaper than reading the catalogue.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn has_archive(&self) -> Result<bool, Unavailable> {
        let info = topology::info(self.connection(), ARCHIVE_STREAM, self.deadline()).await?;
        Ok(info.is_some_and(|info| info.state.messages > 0))
    }

    /// The revision of the whole catalogue, from the leader: it is another one after each change of an entry. `None`: there is no
    /// catalogue, or it is empty.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn archive_revision(&self) -> Result<Option<CatalogueRevision>, Unavailable> {
        let info = topology::info(self.connection(), ARCHIVE_STREAM, self.deadline()).await?;
        let state = info.map(|info| info.state).filter(|state| state.messages > 0);
        Ok(state.map(|state| CatalogueRevision { last: state.bounds().last, entries: state.messages }))
    }

    /// The catalogue's entries of one partition or of all, by segment. Empty without a catalogue.
    ///
    /// # Errors
    /// [`CatalogueError::Unavailable`] or [`CatalogueError::Corrupt`].
    pub async fn archive_entries(&self, partition: Option<Partition>) -> Result<Vec<CataloguedEntry>, CatalogueError> {
        if !self.has_archive().await? {
            return Ok(Vec::new());
        }
        let deadline = self.deadline();
        let mut entries = BTreeMap::new();
        for (revision, payload) in self.read_catalogue(deadline).await? {
            let corrupt = CatalogueError::Corrupt { sequence: revision };
            let entry: ArchiveEntry = serde_json::from_slice(&payload).map_err(|_| corrupt)?;
            // An entry that was replaced during the read appears twice; the later one is used.
            entries.insert(entry.segment, CataloguedEntry { entry, revision });
        }
        let is_of_partition =
            |one: &CataloguedEntry| partition.is_none_or(|partition| one.entry.partition == partition.0);
        Ok(entries.into_values().filter(is_of_partition).collect())
    }

    /// The catalogue's messages, by direct reads, which every role may do.
    async fn read_catalogue(&self, deadline: Instant) -> Result<Vec<(Sequence, Bytes)>, Unavailable> {
        let mut read: Vec<(Sequence, Bytes)> = Vec::new();
        let last = |read: &[(Sequence, Bytes)]| {
            let last = read.last();
            last.map_or(Sequence(0), |(sequence, _)| *sequence)
        };
        loop {
            let request = BatchRequest {
                from: From::after(last(&read)),
                subject: ">",
                messages_max: BATCH_MESSAGES_MAX,
                bytes_max: BATCH_BYTES_MAX,
            };
            let connection = self.connection();
            let batch = connection.batch(ARCHIVE_STREAM, &request, BATCH_MESSAGES_MAX, deadline).await?;
            let is_end = batch.resume_after().is_none();
            read.extend(batch.messages.into_iter().map(entry));
            if is_end {
                // The replica may lag; only the leader can confirm the end.
                let next = self.next_from_leader(ARCHIVE_STREAM, last(&read)).await?;
                match next {
                    Some(next) => read.push(entry(next)),
                    None => return Ok(read),
                }
            }
        }
    }

    /// Puts an entry if its current revision is `revision`; `None`: if there is no entry. Returns the new revision.
    ///
    /// # Errors
    /// [`CatalogueError::Superseded`], or [`CatalogueError::Unavailable`]: the outcome is unknown.
    pub async fn put_archive_entry(
        &self,
        entry: &ArchiveEntry,
        revision: Option<Sequence>,
    ) -> Result<CataloguedEntry, CatalogueError> {
        let payload = serde_json::to_vec(entry).map_err(|_| Unavailable::new("an archive entry cannot be encoded"))?;
        let (subject, rejected) = (subject(entry), "the catalogue rejected a change");
        let put = self.put(ARCHIVE_STREAM, subject, revision, payload.into(), rejected);
        match put.await? {
            Put::Stored(revision) => Ok(CataloguedEntry { entry: entry.clone(), revision }),
            Put::Superseded(_) => Err(CatalogueError::Superseded { segment: entry.segment }),
        }
    }

    /// Removes an entry, unless it was changed since.
    ///
    /// # Errors
    /// [`CatalogueError::Unavailable`].
    pub async fn remove_archive_entry(&self, entry: &CataloguedEntry) -> Result<(), CatalogueError> {
        if self.is_archive_entry_current(entry).await? {
            self.erase_message(ARCHIVE_STREAM, entry.revision).await?;
        }
        Ok(())
    }

    /// Whether an entry is still the current revision.
    ///
    /// # Errors
    /// [`CatalogueError::Unavailable`].
    pub async fn is_archive_entry_current(&self, entry: &CataloguedEntry) -> Result<bool, CatalogueError> {
        let subject = subject(&entry.entry);
        let last = self.get_from_leader(ARCHIVE_STREAM, &MessageQuery::LastOfSubject(&subject)).await?;
        Ok(last.is_some_and(|last| last.sequence == entry.revision))
    }
}

fn entry(message: RawMessage) -> (Sequence, Bytes) {
    (message.sequence, message.payload)
}

fn subject(entry: &ArchiveEntry) -> String {
    format!("{ARCHIVE_PREFIX}{}.{}", entry.partition, entry.segment)
}
