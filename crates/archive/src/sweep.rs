//! Erasing from segments: one that holds what is to go is written anew without it, and its former object is removed.

use std::collections::BTreeSet;

use domain::{ConversationKey, Partition, Status};
use event_log::{ArchiveEntry, ArchivedSegment, CataloguedEntry};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::archive::{Archive, CataloguedSegment};
use crate::error::ArchiveError;
use crate::seal::write;
use crate::segment::ArchivedMessage;
use crate::store::Store;

/// Heads that are read at a time.
const READS_IN_FLIGHT: usize = 32;

/// What a sweep came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Segments that were written anew, or removed since nothing was left of them.
    pub segments: u64,
    /// Commits that are in no segment any more.
    pub commits: u64,
}

impl Archive {
    /// Takes conversations out of every segment, and removes the loose objects of their partitions: once this returns,
    /// nothing of them is in the archive.
    ///
    /// # Errors
    /// [`ArchiveError`]: call again until it succeeds; each step can be done twice.
    pub async fn sweep(&self, keys: &BTreeSet<ConversationKey>) -> Result<Swept, ArchiveError> {
        let partitions: BTreeSet<Partition> = keys
            .iter()
            .map(|key| self.record.partition_of(key))
            .collect();
        let mut swept = Swept::default();
        for partition in partitions {
            self.tidy(Some(partition)).await?;
            for segment in self.segments(Some(partition)).await? {
                self.sweep_segment(segment, keys, &mut swept).await?;
            }
        }
        Ok(swept)
    }

    /// The conversations of a partition's segments that are erased by now, whoever erased them.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn erased_in(
        &self,
        partition: Option<Partition>,
    ) -> Result<BTreeSet<ConversationKey>, ArchiveError> {
        let mut erased = BTreeSet::new();
        for segment in self.segments(partition).await? {
            let index = self.object(&segment)?.index().await?;
            let keys = index.conversations.iter().map(|one| one.key.clone());
            let looks = stream::iter(keys.collect::<Vec<_>>())
                .map(|key| self.erased(key))
                .buffer_unordered(READS_IN_FLIGHT);
            let found: Vec<Option<ConversationKey>> = looks.try_collect().await?;
            erased.extend(found.into_iter().flatten());
        }
        Ok(erased)
    }

    /// Those of some conversations that are in a segment.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn held(
        &self,
        keys: &BTreeSet<ConversationKey>,
    ) -> Result<BTreeSet<ConversationKey>, ArchiveError> {
        let mut held = BTreeSet::new();
        let of = |key: &ConversationKey| self.record.partition_of(key);
        let partitions: BTreeSet<Partition> = keys.iter().map(of).collect();
        for partition in partitions {
            for segment in self.segments(Some(partition)).await? {
                let index = self.object(&segment)?.index().await?;
                let conversations = index.conversations.iter().map(|one| &one.key);
                held.extend(conversations.filter(|key| keys.contains(key)).cloned());
            }
        }
        Ok(held)
    }

    async fn erased(&self, key: ConversationKey) -> Result<Option<ConversationKey>, ArchiveError> {
        let last = self.record.last_from_leader(&key).await?;
        let head = last.and_then(|last| last.open_head().ok());
        let is_erased = head.is_some_and(|head| head.status == Status::Erased);
        Ok(is_erased.then_some(key))
    }

    async fn sweep_segment(
        &self,
        segment: CataloguedSegment,
        keys: &BTreeSet<ConversationKey>,
        swept: &mut Swept,
    ) -> Result<(), ArchiveError> {
        let object = self.object(&segment)?;
        let index = object.index().await?;
        if !index
            .conversations
            .iter()
            .any(|one| keys.contains(&one.key))
        {
            return Ok(());
        }
        let (_, mut messages) = object.all().await?;
        let before = messages.len();
        messages.retain(|message| !keys.contains(&message.key));
        let gone = before.saturating_sub(messages.len());
        let replaced = self.replace(&object.store, segment, &messages).await?;
        // Only now nothing of them is in the store.
        self.tidy_entry(replaced).await?;
        swept.segments += 1;
        swept.commits += u64::try_from(gone).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Puts another object in the place of a segment's, which is loose then.
    async fn replace(
        &self,
        store: &Store,
        segment: CataloguedSegment,
        messages: &[ArchivedMessage],
    ) -> Result<CataloguedEntry, ArchiveError> {
        let CataloguedEntry { entry, revision } = segment.catalogued;
        let old = segment.sealed;
        let record = &self.record;
        if messages.is_empty() {
            let empty = ArchiveEntry {
                sealed: None,
                loose: vec![old.object],
                ..entry
            };
            return Ok(record.put_archive_entry(&empty, Some(revision)).await?);
        }
        let object = self.new_object(Partition(entry.partition), entry.segment);
        let writing = ArchiveEntry {
            loose: vec![object.clone()],
            store: store.url().to_string(),
            ..entry
        };
        let begun = record.put_archive_entry(&writing, Some(revision)).await?;
        let written = write(store, self.origin(&writing), object, messages).await?;
        let switched = ArchiveEntry {
            sealed: Some(ArchivedSegment {
                made_at: old.made_at,
                is_trimmed: old.is_trimmed,
                ..written
            }),
            loose: vec![old.object],
            ..writing
        };
        let revision = Some(begun.revision);
        Ok(record.put_archive_entry(&switched, revision).await?)
    }
}
