//! Writes a segment. The catalogue has its entry before the object is written, and it is sealed only after it was read back.

use std::collections::BTreeSet;

use bytes::Bytes;
use domain::{ConversationKey, Partition};
use event_log::{ArchiveEntry, ArchivedSegment, CatalogueError, CataloguedEntry};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::segment::{
    ArchivedMessage, Index, InvalidCommit, Origin, decode, encode, follows, needs_no_predecessor, without_predecessor,
};
use crate::{Archive, ArchiveError, CataloguedSegment, Store};

/// A segment in preparation. If it is never sealed, the catalogue lists its object as loose.
#[derive(Debug)]
pub struct Draft {
    archive: Archive,
    store: Store,
    catalogued: CataloguedEntry,
    hibernated: BTreeSet<ConversationKey>,
}

impl Archive {
    /// Adds a new segment to the catalogue. Messages that are read from the record afterwards are safe to seal: a later erasure
    /// finds the segment, sealed or loose.
    ///
    /// # Errors
    /// [`ArchiveError::Catalogue`].
    pub async fn draft(&self, store: &Store, partition: Partition) -> Result<Draft, ArchiveError> {
        let segment = Uuid::now_v7();
        let object = self.new_object(partition, segment);
        let entry = ArchiveEntry {
            segment,
            partition: partition.0,
            store: store.url().to_string(),
            sealed: None,
            loose: vec![object],
        };
        let catalogued = self.record.put_archive_entry(&entry, None).await?;
        Ok(Draft { archive: self.clone(), store: store.clone(), catalogued, hibernated: BTreeSet::new() })
    }

    /// A unique object name.
    pub(crate) fn new_object(&self, partition: Partition, segment: Uuid) -> String {
        let record = hex::encode(self.record.id().0);
        let generation = Uuid::new_v4().simple();
        format!("{record}/{partition}/{segment}.{generation}.segment")
    }

    /// The cause of a failed write: if the entry has changed since, another process removed the object.
    pub(crate) async fn cause_of(&self, entry: &CataloguedEntry, error: ArchiveError) -> ArchiveError {
        let is_current = self.record.is_archive_entry_current(entry).await;
        let by_store = matches!(error, ArchiveError::Store(_) | ArchiveError::Unfaithful { .. });
        if by_store && matches!(is_current, Ok(false)) {
            let segment = entry.entry.segment;
            return CatalogueError::Superseded { segment }.into();
        }
        error
    }

    /// Whether all of a conversation's commits before this one are sealed: it is the conversation's first commit, or an earlier
    /// segment ends with its predecessor, by version and hash chain. Only then may it start the conversation's commits in a
    /// segment. Otherwise the archive would contain a history without its start.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn has_predecessor(&self, first: &ArchivedMessage) -> Result<bool, ArchiveError> {
        if needs_no_predecessor(first).map_err(unsealable)? {
            return Ok(true);
        }
        let partition = self.record.partition_of(&first.key).await?;
        let segments = self.segments(Some(partition)).await?;
        self.has_predecessor_in(&segments, first).await
    }

    async fn has_predecessor_in(
        &self,
        segments: &[CataloguedSegment],
        first: &ArchivedMessage,
    ) -> Result<bool, ArchiveError> {
        for segment in segments {
            let index = self.object(segment)?.index().await?;
            if let Some(stretch) = index.conversation(&first.key)
                && follows(first, stretch).map_err(unsealable)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Checks the first commit of each conversation among the messages to seal.
    async fn check_predecessors(&self, partition: Partition, messages: &[ArchivedMessage]) -> Result<(), ArchiveError> {
        let (mut seen, mut segments) = (BTreeSet::new(), None);
        for message in messages {
            if !seen.insert(&message.key) || needs_no_predecessor(message).map_err(unsealable)? {
                continue;
            }
            let segments = match &mut segments {
                Some(segments) => segments,
                none => none.insert(self.segments(Some(partition)).await?),
            };
            if !self.has_predecessor_in(segments, message).await? {
                return Err(unsealable(without_predecessor(message)));
            }
        }
        Ok(())
    }

    pub(crate) fn origin(&self, entry: &ArchiveEntry) -> Origin {
        Origin { record: self.record.id(), partition: Partition(entry.partition), segment: entry.segment }
    }
}

impl Draft {
    /// The segment's id.
    #[must_use]
    pub fn segment(&self) -> Uuid {
        self.catalogued.entry.segment
    }

    /// The same draft, for a segment with the last commits of these conversations, which leave the record.
    #[must_use]
    pub fn hibernating(self, hibernated: BTreeSet<ConversationKey>) -> Self {
        Self { hibernated, ..self }
    }

    /// Seals messages of the segment's partition, in the order of their sequences. Each conversation starts with its first
    /// commit, is only its tombstone, or continues an earlier segment. Writes the object, reads it back, compares it byte by
    /// byte, and puts the segment into the catalogue. `made_at` is the current time (RFC 3339).
    ///
    /// # Errors
    /// [`ArchiveError`]: nothing is sealed. The written object is removed again; if that fails, it is loose, and the next
    /// [`Archive::tidy`] removes it.
    pub async fn seal(self, messages: &[ArchivedMessage], made_at: &str) -> Result<CataloguedSegment, ArchiveError> {
        let entry = &self.catalogued.entry;
        // An erasure since the read of the messages changed the entry: do not write them.
        let record = &self.archive.record;
        if !record.is_archive_entry_current(&self.catalogued).await? {
            let segment = entry.segment;
            return Err(CatalogueError::Superseded { segment }.into());
        }
        let partition = Partition(entry.partition);
        self.archive.check_predecessors(partition, messages).await?;
        let object = entry.loose.first().cloned().unwrap_or_default();
        match self.sealed(&object, messages, made_at).await {
            Ok(segment) => Ok(segment),
            Err(error) => {
                let error = remove_unsealed(&self.store, &object, error).await;
                Err(self.archive.cause_of(&self.catalogued, error).await)
            }
        }
    }

    async fn sealed(
        &self,
        object: &str,
        messages: &[ArchivedMessage],
        made_at: &str,
    ) -> Result<CataloguedSegment, ArchiveError> {
        let CataloguedEntry { entry, revision } = &self.catalogued;
        let origin = self.archive.origin(entry);
        let sealed = ArchivedSegment {
            made_at: made_at.to_owned(),
            ..write(&self.store, origin, object, messages, &self.hibernated).await?
        };
        let entry = ArchiveEntry { sealed: Some(sealed.clone()), loose: Vec::new(), ..entry.clone() };
        let record = &self.archive.record;
        let catalogued = record.put_archive_entry(&entry, Some(*revision)).await?;
        Ok(CataloguedSegment { catalogued, sealed })
    }

    /// Removes the entry of a segment that was not written.
    ///
    /// # Errors
    /// [`ArchiveError::Catalogue`].
    pub async fn discard(self) -> Result<(), ArchiveError> {
        let record = &self.archive.record;
        Ok(record.remove_archive_entry(&self.catalogued).await?)
    }
}

fn unsealable(invalid: InvalidCommit) -> ArchiveError {
    ArchiveError::Unsealable(invalid.into())
}

/// Removes an unsealed object, whose content may be erased by now; returns the error.
pub(crate) async fn remove_unsealed(store: &Store, object: &str, error: ArchiveError) -> ArchiveError {
    // If the record did not answer, the object may be sealed anyway.
    use CatalogueError::Unavailable;
    if !matches!(error, ArchiveError::Catalogue(Unavailable(_))) {
        // If this fails too, the catalogue still names the object.
        let _removed = store.remove(object).await;
    }
    error
}

/// Writes an object, reads it back and compares it; returns its catalogue entry without `made_at`.
pub(crate) async fn write(
    store: &Store,
    origin: Origin,
    object: &str,
    messages: &[ArchivedMessage],
    hibernated: &BTreeSet<ConversationKey>,
) -> Result<ArchivedSegment, ArchiveError> {
    let (bytes, index) = encode(origin, messages, hibernated).map_err(ArchiveError::Unsealable)?;
    let bytes = Bytes::from(bytes);
    store.put(object, bytes.clone()).await?;
    let read = store.read_all(object).await?;
    let is_equal = read == bytes && decode(&read).is_ok_and(|decoded| decoded.0 == index && decoded.1 == messages);
    if !is_equal {
        let object = object.to_owned();
        return Err(ArchiveError::Unfaithful { object });
    }
    Ok(describe(&index, &bytes, object.to_owned()))
}

/// The catalogue entry of an object, without `made_at` and `is_trimmed`.
pub(crate) fn describe(index: &Index, bytes: &[u8], object: String) -> ArchivedSegment {
    ArchivedSegment {
        object,
        sha256: hex::encode(Sha256::digest(bytes)),
        ..describe_index(index, u64::try_from(bytes.len()).unwrap_or(u64::MAX))
    }
}

/// The contents of an object of this size, by its index.
pub(crate) fn describe_index(index: &Index, size_bytes: u64) -> ArchivedSegment {
    ArchivedSegment {
        size_bytes,
        first_sequence: index.first().unwrap_or_default().0,
        last_sequence: index.last().unwrap_or_default().0,
        conversations: u64::try_from(index.conversations.len()).unwrap_or(u64::MAX),
        commits: index.messages(),
        events: index.events(),
        hibernated: u64::try_from(index.hibernated().count()).unwrap_or(u64::MAX),
        ..ArchivedSegment::default()
    }
}
