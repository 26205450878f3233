//! The catalogue's stream: read whole, changed entry by entry, each change conditional on what it changes.

use std::collections::BTreeMap;

use domain::{Partition, Sequence};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::entry::{ArchiveEntry, CataloguedEntry};
use crate::error::{RecordError, Unavailable};
use crate::feed::{Feed, FeedItem};
use crate::get::Which;
use crate::headers::TraceHeaders;
use crate::publish::{Ack, Publication};
use crate::record::Record;
use crate::topology::{self, ARCHIVE_PREFIX, ARCHIVE_STREAM};

/// Why the catalogue cannot be read or changed.
#[derive(Debug, Error)]
pub enum CatalogueError {
    /// The record does not answer; the same call may be made again.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// An entry is none: an operator must look at it.
    #[error("the message {sequence} of stream {ARCHIVE_STREAM} is no entry of the catalogue")]
    Corrupt {
        /// The message.
        sequence: Sequence,
    },
    /// Somebody else has changed the entry: read it again.
    #[error("segment {segment} was changed by somebody else: run again")]
    Superseded {
        /// The segment.
        segment: Uuid,
    },
}

impl Record {
    /// Makes the catalogue, unless it is there. A record that a writer has started on since there are archives has one.
    ///
    /// # Errors
    /// [`RecordError`].
    pub async fn ensure_archive(&self) -> Result<(), RecordError> {
        let deadline = self.deadline();
        topology::create_archive(self.connection(), self.identity(), self.config(), deadline).await
    }

    /// Whether some of the record may be in an archive: whether the catalogue has an entry. Cheaper than reading it.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn has_archive(&self) -> Result<bool, Unavailable> {
        let info = topology::info(self.connection(), ARCHIVE_STREAM, self.deadline()).await?;
        Ok(info.is_some_and(|info| info.state.messages > 0))
    }

    /// The catalogue's entries, of one partition or of all, by segment. A record without a catalogue has none.
    ///
    /// # Errors
    /// [`CatalogueError::Unavailable`] or [`CatalogueError::Corrupt`].
    pub async fn archive_entries(
        &self,
        partition: Option<Partition>,
    ) -> Result<Vec<CataloguedEntry>, CatalogueError> {
        if !self.has_archive().await? {
            return Ok(Vec::new());
        }
        let deadline = self.deadline();
        let mut entries = BTreeMap::new();
        for (revision, payload) in self.catalogued(deadline).await? {
            let corrupt = CatalogueError::Corrupt { sequence: revision };
            let entry: ArchiveEntry = serde_json::from_slice(&payload).map_err(|_| corrupt)?;
            // Replaced while it was read: the later one counts.
            entries.insert(entry.segment, CataloguedEntry { entry, revision });
        }
        let of_partition = |one: &CataloguedEntry| {
            partition.is_none_or(|partition| one.entry.partition == partition.0)
        };
        Ok(entries.into_values().filter(of_partition).collect())
    }

    async fn catalogued(
        &self,
        deadline: Instant,
    ) -> Result<Vec<(Sequence, bytes::Bytes)>, Unavailable> {
        let mut feed = Feed::new(self.clone(), ARCHIVE_STREAM.to_owned(), Sequence(0));
        let mut read = Vec::new();
        loop {
            let item = timeout_at(deadline, feed.next()).await;
            match item.map_err(|_| Unavailable::new("the catalogue did not come in time"))? {
                FeedItem::Begun => {}
                FeedItem::Lost(unavailable) => return Err(unavailable),
                FeedItem::Message(message) => {
                    read.push((message.sequence, message.message.payload));
                    // The replica that is read may be behind: the leader knows whether more is there.
                    let is_end = message.pending == 0
                        && self
                            .next_on_leader(ARCHIVE_STREAM, message.sequence)
                            .await?
                            .is_none();
                    if is_end {
                        return Ok(read);
                    }
                }
            }
        }
    }

    /// Puts an entry in the place of the revision; `None`: there must be none. Its new revision.
    ///
    /// # Errors
    /// [`CatalogueError::Superseded`], or [`CatalogueError::Unavailable`]: it may have been put or not.
    pub async fn put_archive_entry(
        &self,
        entry: &ArchiveEntry,
        revision: Option<Sequence>,
    ) -> Result<CataloguedEntry, CatalogueError> {
        let payload = serde_json::to_vec(entry)
            .map_err(|_| Unavailable::new("an entry cannot be written"))?;
        let payload = bytes::Bytes::from(payload);
        let subject = subject(entry);
        let put = |revision| CataloguedEntry {
            entry: entry.clone(),
            revision,
        };
        let publication = Publication {
            subject: subject.clone(),
            id: Some(&Uuid::new_v4().to_string()),
            expected: revision,
            trace: &TraceHeaders::default(),
            payload: payload.clone(),
        };
        let deadline = self.deadline();
        let answer = self
            .connection()
            .publish(publication, Self::ack_deadline(deadline));
        let unsettled = match answer.await {
            Ok(Ack::Stored(sequence) | Ack::Duplicate(sequence)) => return Ok(put(sequence)),
            Ok(Ack::Refused { .. }) => Unavailable::new("the catalogue refused a change"),
            Err(unavailable) => unavailable,
        };
        let query = Which::LastOf(&subject);
        let connection = self.connection();
        let last = connection.get_from_leader(ARCHIVE_STREAM, &query, deadline);
        match last.await? {
            Some(last) if last.payload == payload => Ok(put(last.sequence)),
            last if last.as_ref().map(|last| last.sequence) == revision => Err(unsettled.into()),
            _ => Err(CatalogueError::Superseded {
                segment: entry.segment,
            }),
        }
    }

    /// Removes an entry, unless it was changed since; then the change stands.
    ///
    /// # Errors
    /// [`CatalogueError::Unavailable`].
    pub async fn remove_archive_entry(
        &self,
        entry: &CataloguedEntry,
    ) -> Result<(), CatalogueError> {
        if self.archive_entry_stands(entry).await? {
            self.erase_message(ARCHIVE_STREAM, entry.revision).await?;
        }
        Ok(())
    }

    /// Whether an entry is as it was put or read, and nobody has changed it since.
    ///
    /// # Errors
    /// [`CatalogueError::Unavailable`].
    pub async fn archive_entry_stands(
        &self,
        entry: &CataloguedEntry,
    ) -> Result<bool, CatalogueError> {
        let subject = subject(&entry.entry);
        let query = Which::LastOf(&subject);
        let connection = self.connection();
        let last = connection.get_from_leader(ARCHIVE_STREAM, &query, self.deadline());
        Ok(last
            .await?
            .is_some_and(|last| last.sequence == entry.revision))
    }
}

fn subject(entry: &ArchiveEntry) -> String {
    format!("{ARCHIVE_PREFIX}{}.{}", entry.partition, entry.segment)
}
