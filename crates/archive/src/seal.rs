//! Writing a segment: told in the catalogue before a byte of it is written, and sealed only once it was read back.

use std::collections::BTreeSet;

use bytes::Bytes;
use domain::Partition;
use event_log::{ArchiveEntry, ArchivedSegment, CatalogueError, CataloguedEntry};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::archive::{Archive, CataloguedSegment};
use crate::error::ArchiveError;
use crate::segment::{
    ArchivedMessage, Index, Origin, Unsound, begins, decode, encode, follows, without_beginning,
};
use crate::store::Store;

/// A segment that is about to be written. Whatever ends it before it is sealed, its object is known to be loose.
#[derive(Debug)]
pub struct Draft {
    archive: Archive,
    store: Store,
    catalogued: CataloguedEntry,
}

impl Archive {
    /// Tells the catalogue of a segment to come. What is read of the record after this is safe to seal: an erasure that
    /// comes later finds the segment, sealed or loose.
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
        Ok(Draft {
            archive: self.clone(),
            store: store.clone(),
            catalogued,
        })
    }

    /// A name that no object ever had.
    pub(crate) fn new_object(&self, partition: Partition, segment: Uuid) -> String {
        let record = hex::encode(self.record.id().0);
        let generation = Uuid::new_v4().simple();
        format!("{record}/{partition}/{segment}.{generation}.segment")
    }

    /// Why a write failed: where the entry has changed since, whoever changed it has removed the object under the writer's hands.
    pub(crate) async fn why(&self, entry: &CataloguedEntry, error: ArchiveError) -> ArchiveError {
        let stands = self.record.archive_entry_stands(entry).await;
        let by_store = matches!(
            error,
            ArchiveError::Store(_) | ArchiveError::Unfaithful { .. }
        );
        if by_store && matches!(stands, Ok(false)) {
            let segment = entry.entry.segment;
            return CatalogueError::Superseded { segment }.into();
        }
        error
    }

    /// Whether a conversation's commits before this one are all sealed: it begins its conversation, or goes on from what an
    /// earlier segment ends with, by version and chain. Only then may it begin a conversation's stretch in a segment:
    /// otherwise the archive would hold a history whose beginning is nowhere.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn is_preceded(&self, first: &ArchivedMessage) -> Result<bool, ArchiveError> {
        if begins(first).map_err(unsealable)? {
            return Ok(true);
        }
        let partition = self.record.partition_of(&first.key);
        let segments = self.segments(Some(partition)).await?;
        self.is_preceded_in(&segments, first).await
    }

    async fn is_preceded_in(
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

    /// Checks the first commit of each conversation among messages that are to be sealed.
    async fn check_beginnings(
        &self,
        partition: Partition,
        messages: &[ArchivedMessage],
    ) -> Result<(), ArchiveError> {
        let (mut begun, mut segments) = (BTreeSet::new(), None);
        for message in messages {
            if !begun.insert(&message.key) || begins(message).map_err(unsealable)? {
                continue;
            }
            let segments = match &mut segments {
                Some(segments) => segments,
                none => none.insert(self.segments(Some(partition)).await?),
            };
            if !self.is_preceded_in(segments, message).await? {
                return Err(unsealable(without_beginning(message)));
            }
        }
        Ok(())
    }

    pub(crate) fn origin(&self, entry: &ArchiveEntry) -> Origin {
        Origin {
            record: self.record.id(),
            partition: Partition(entry.partition),
            segment: entry.segment,
        }
    }
}

impl Draft {
    /// Seals messages of the segment's partition, in the order of their sequences, each conversation from its beginning or
    /// from where an earlier segment ends: writes them, reads them back, compares
    /// what came back with what was given, byte by byte, and puts the segment into the catalogue. `made_at`: now, as RFC 3339
    /// writes it.
    ///
    /// # Errors
    /// [`ArchiveError`]: nothing is sealed. What was written of it is removed again, and where that failed the object is
    /// loose, and the next [`Archive::tidy`] removes it.
    pub async fn seal(
        self,
        messages: &[ArchivedMessage],
        made_at: &str,
    ) -> Result<CataloguedSegment, ArchiveError> {
        let entry = &self.catalogued.entry;
        // An erasure has come since the messages were read: they are not even written.
        if !self
            .archive
            .record
            .archive_entry_stands(&self.catalogued)
            .await?
        {
            let segment = entry.segment;
            return Err(CatalogueError::Superseded { segment }.into());
        }
        let partition = Partition(entry.partition);
        self.archive.check_beginnings(partition, messages).await?;
        let object = entry.loose.first().cloned().unwrap_or_default();
        match self.sealed(&object, messages, made_at).await {
            Ok(segment) => Ok(segment),
            Err(error) => {
                let taken_back = take_back(&self.store, &object, error).await;
                Err(self.archive.why(&self.catalogued, taken_back).await)
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
            ..write(&self.store, origin, object.to_owned(), messages).await?
        };
        let entry = ArchiveEntry {
            sealed: Some(sealed.clone()),
            loose: Vec::new(),
            ..entry.clone()
        };
        let record = &self.archive.record;
        let catalogued = record.put_archive_entry(&entry, Some(*revision)).await?;
        Ok(CataloguedSegment { catalogued, sealed })
    }

    /// Gives the segment up: nothing was written.
    ///
    /// # Errors
    /// [`ArchiveError::Catalogue`].
    pub async fn discard(self) -> Result<(), ArchiveError> {
        let record = &self.archive.record;
        Ok(record.remove_archive_entry(&self.catalogued).await?)
    }
}

fn unsealable(unsound: Unsound) -> ArchiveError {
    ArchiveError::Unsealable(unsound.into())
}

/// Removes an object that was written in vain: what is in it may be erased by now.
pub(crate) async fn take_back(store: &Store, object: &str, error: ArchiveError) -> ArchiveError {
    // Where the record did not answer, the object may be sealed all the same.
    let may_be_sealed = matches!(
        error,
        ArchiveError::Catalogue(CatalogueError::Unavailable(_))
    );
    if !may_be_sealed {
        // Where this fails too, the catalogue still names it.
        let _removed = store.remove(object).await;
    }
    error
}

/// Writes an object, reads it back and compares; what the catalogue is to say of it, but for when.
pub(crate) async fn write(
    store: &Store,
    origin: Origin,
    object: String,
    messages: &[ArchivedMessage],
) -> Result<ArchivedSegment, ArchiveError> {
    let (bytes, index) = encode(origin, messages).map_err(ArchiveError::Unsealable)?;
    let bytes = Bytes::from(bytes);
    store.put(&object, bytes.clone()).await?;
    let read = store.read_all(&object).await?;
    let is_same = read == bytes
        && decode(&read).is_ok_and(|(held, again)| held == index && again == messages);
    if !is_same {
        return Err(ArchiveError::Unfaithful { object });
    }
    Ok(told(&index, &bytes, object))
}

/// What the catalogue is to say of an object, but for when it was made and whether the record is trimmed.
pub(crate) fn told(index: &Index, bytes: &[u8], object: String) -> ArchivedSegment {
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    ArchivedSegment {
        object,
        sha256: hex::encode(Sha256::digest(bytes)),
        size_bytes: count(bytes.len()),
        first_sequence: index.first().unwrap_or_default().0,
        last_sequence: index.last().unwrap_or_default().0,
        conversations: count(index.conversations.len()),
        commits: index.messages(),
        events: index.events(),
        made_at: String::new(),
        is_trimmed: false,
    }
}
