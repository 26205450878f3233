//! Finds hibernated conversations, whose last commit is only in a segment.
//!
//! The hash of each one's key is in memory, with the number of the block that has its last commit. So it takes no read to know that a
//! conversation is not hibernated, and the read of one block to get its last commit.
//!
//! The catalogue in memory is at most [`CATALOGUE_AGE_MAX`] old; from [`REFRESH_AGE`] on, calls read it again in the background. Last
//! commits leave the record [`HIBERNATION_DELAY_MIN`] after their segment is in the catalogue, so that every process knows the segment
//! by then. `model.rs` explores every order of these steps.

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::{ConversationKey, Partition, Sequence};
use event_log::{Append, CatalogueError, StoredMessage, Unavailable};
use tokio::time::Instant;

use crate::known_segments::{Known, Reading, Segments};
use crate::segment::{ArchivedMessage, ConversationEntry};
use crate::{Archive, ArchiveError, StoreError};

/// Maximum age of a catalogue that decides whether a conversation is hibernated.
pub const CATALOGUE_AGE_MAX: Duration = Duration::from_secs(10);
/// Age of a catalogue from which on it is read again in the background, so that calls do not wait for it.
const REFRESH_AGE: Duration = Duration::from_secs(5);
/// Minimum time between the entry of a segment in the catalogue and the removal of last commits from the record: the age of a
/// catalogue, a call of the longest request timeout (60 s) that was decided by it, and 50 s for its publishes to arrive.
pub const HIBERNATION_DELAY_MIN: Duration = Duration::from_mins(2);

/// Maximum age of a head that a writer has cached: below the idle time after which a conversation can be hibernated, one hour. So no
/// writer remembers a head from before a hibernation after its conversation was woken and hibernated again.
pub const CACHED_HEAD_AGE_MAX: Duration = Duration::from_mins(30);

/// Maximum searches while erasures replace segments.
const SEARCHES_MAX: u32 = 8;
/// Retry delay for callers while a segment cannot be read, in milliseconds.
const RETRY_AFTER_MS: u64 = 5_000;

/// A conversation's last commit, and what an append after it must expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastCommit {
    /// The commit.
    pub message: StoredMessage,
    /// The sequence of the conversation's last message in the record: that of the commit, unless it is hibernated.
    pub recorded: Option<Sequence>,
    /// The partition of the commit if the conversation is hibernated.
    pub hibernated_in: Option<Partition>,
}

impl LastCommit {
    /// An append that follows this commit.
    #[must_use]
    pub fn followed_by(&self, append: Append) -> Append {
        Append { expected: self.recorded, hibernated_in: self.hibernated_in, ..append }
    }
}

impl Archive {
    /// A conversation's last commit, from the leader of its stream, or from its segment if it is hibernated.
    ///
    /// # Errors
    /// [`Unavailable`]: the record does not answer, or a segment cannot be read, which is logged.
    pub async fn last_commit(&self, key: &ConversationKey) -> Result<Option<StoredMessage>, Unavailable> {
        let last = self.last_from_leader(key).await?;
        Ok(last.map(|last| last.message))
    }

    /// As [`Archive::last_commit`], from any replica, which may lag.
    ///
    /// # Errors
    /// As [`Archive::last_commit`].
    pub async fn last_of_replica(&self, key: &ConversationKey) -> Result<Option<StoredMessage>, Unavailable> {
        let recorded = self.record.last(key).await?;
        Ok(self.later_of(key, recorded).await?.map(|last| last.message))
    }

    /// As [`Archive::last_commit`], with what an append must expect.
    ///
    /// # Errors
    /// As [`Archive::last_commit`].
    pub async fn last_from_leader(&self, key: &ConversationKey) -> Result<Option<LastCommit>, Unavailable> {
        let recorded = self.record.last_from_leader(key).await?;
        self.later_of(key, recorded).await
    }

    /// The later one of a conversation's last commit in the record, from any replica, and that of its segments: a server that
    /// restarted during deletions may have an old one.
    ///
    /// # Errors
    /// [`Unavailable`]: a segment cannot be read, which is logged.
    pub async fn later_of(
        &self,
        key: &ConversationKey,
        recorded: Option<StoredMessage>,
    ) -> Result<Option<LastCommit>, Unavailable> {
        let sequence = recorded.as_ref().map(|last| last.position.sequence);
        let hibernated = self.hibernated(key, sequence.unwrap_or_default()).await?;
        let hibernated_in = hibernated.as_ref().map(|last| last.position.partition);
        Ok(hibernated.or(recorded).map(|message| LastCommit { message, recorded: sequence, hibernated_in }))
    }

    /// The partition of a conversation; of one without commits, that of its first commit.
    ///
    /// # Errors
    /// As [`Archive::last_commit`].
    pub async fn partition_of(&self, key: &ConversationKey) -> Result<Partition, Unavailable> {
        if let Some(known) = self.record.known_partition(key) {
            return Ok(known);
        }
        match self.last_commit(key).await? {
            Some(last) => Ok(last.position.partition),
            None => self.record.partition_of(key).await,
        }
    }

    /// The last commit of a conversation that is hibernated after a sequence; `None`: it is not.
    async fn hibernated(&self, key: &ConversationKey, after: Sequence) -> Result<Option<StoredMessage>, Unavailable> {
        self.refresh();
        let recent = self.known.recent(CATALOGUE_AGE_MAX);
        if recent.is_some_and(|segments| segments.has_none_after(after)) {
            return Ok(None);
        }
        // Boxed, because it is rare and its future is large.
        let found = Box::pin(self.find_hibernated(key, after)).await.map_err(|error| unavailable(&error))?;
        let last = found.map(|found| found.message);
        if let Some(last) = &last {
            self.record.remember(key, last.position.partition);
        }
        Ok(last)
    }

    async fn find_hibernated(
        &self,
        key: &ConversationKey,
        after: Sequence,
    ) -> Result<Option<ArchivedMessage>, ArchiveError> {
        let mut searches = 1;
        loop {
            let segments = self.known_segments().await?;
            let partitions = self.record.layout().candidates(key);
            match segments.find(key, &partitions, after).await {
                // An erasure has replaced the object since.
                Err(ArchiveError::Unreachable { source: StoreError::Missing { .. }, .. })
                    if searches < SEARCHES_MAX =>
                {
                    self.known.expire();
                }
                found => return found,
            }
            searches += 1;
        }
    }

    /// The segments with hibernated conversations, read again if they are too old.
    async fn known_segments(&self) -> Result<Arc<Segments>, ArchiveError> {
        if let Some(segments) = self.known.recent(CATALOGUE_AGE_MAX) {
            return Ok(segments);
        }
        let reading = self.known.lock().await;
        if let Some(segments) = self.known.recent(CATALOGUE_AGE_MAX) {
            return Ok(segments);
        }
        self.read_segments(reading).await
    }

    /// Reads the catalogue again in the background if it is old and nobody reads it.
    fn refresh(&self) {
        let Some(reading) = self.known.begin_refresh(REFRESH_AGE) else {
            return;
        };
        let archive = self.clone();
        tokio::spawn(async move {
            if let Err(error) = archive.read_segments(reading).await {
                tracing::debug!(%error, "the catalogue is not read again");
            }
        });
    }

    /// The segments with hibernated conversations of the catalogue of now.
    async fn read_segments(&self, _reading: Reading) -> Result<Arc<Segments>, ArchiveError> {
        let read_at = Instant::now();
        let revision = self.record.archive_revision().await?;
        let segments = match self.known.get() {
            Some(before) if before.revision == revision => before.segments,
            before => {
                let before = before.map(|before| before.segments);
                let mut listed = self.segments(None).await?;
                listed.retain(|segment| segment.sealed.hibernated > 0);
                let listed: Result<Vec<_>, ArchiveError> =
                    listed.iter().map(|segment| Ok((segment.partition(), self.object(segment)?))).collect();
                Arc::new(Segments::of(listed?, &before.unwrap_or_default()))
            }
        };
        self.known.set(Known { revision, read_at: Some(read_at), segments: Arc::clone(&segments) });
        Ok(segments)
    }

    /// The hibernated conversations of a partition, each with its newest range. Those that were woken since are included.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn hibernated_conversations(
        &self,
        partition: Partition,
    ) -> Result<BTreeMap<ConversationKey, ConversationEntry>, ArchiveError> {
        let mut newest: BTreeMap<ConversationKey, ConversationEntry> = BTreeMap::new();
        for segment in self.segments(Some(partition)).await? {
            if segment.sealed.hibernated == 0 {
                continue;
            }
            for range in self.object(&segment)?.index().await?.hibernated() {
                let known = newest.get(&range.key);
                if known.is_none_or(|known| known.last < range.last) {
                    newest.insert(range.key.clone(), range.clone());
                }
            }
        }
        Ok(newest)
    }
}

fn unavailable(error: &ArchiveError) -> Unavailable {
    if let ArchiveError::Record(unavailable) | ArchiveError::Catalogue(CatalogueError::Unavailable(unavailable)) = error
    {
        return *unavailable;
    }
    let cause = std::error::Error::source(&error).map(ToString::to_string);
    tracing::error!(%error, cause, "a hibernated conversation cannot be looked up");
    Unavailable { what: "the archive cannot be read", retry_after_ms: RETRY_AFTER_MS }
}
