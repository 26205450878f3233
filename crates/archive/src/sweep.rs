//! Erasure from segments: a segment with erased content is rewritten without it, and its former object is removed.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bytes::Bytes;
use domain::{ConversationKey, Partition, Status};
use event_log::{ArchiveEntry, ArchivedSegment, CataloguedEntry, Unavailable};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::adopt::emptied;
use crate::object::Object;
use crate::seal::{remove_unsealed, write};
use crate::segment::ArchivedMessage;
use crate::{Archive, ArchiveError, CataloguedSegment, Store, StoreError};

/// Concurrent reads of heads.
const READS_IN_FLIGHT: usize = 32;

/// The result of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepResult {
    /// Segments that were rewritten, or removed because they became empty.
    pub segments: u64,
    /// Commits that were removed from segments.
    pub commits: u64,
}

impl Archive {
    /// Removes conversations from every segment, makes every write in progress in their partitions fail, and removes the loose
    /// objects there. Afterwards the archive contains them only in an object that a writer is writing now: the writer removes it,
    /// or, if it is killed, the catalogue names it for the next [`Archive::tidy`].
    ///
    /// # Errors
    /// [`ArchiveError`]: call again until it succeeds; each step is idempotent.
    pub async fn sweep(&self, keys: &BTreeSet<ConversationKey>) -> Result<SweepResult, ArchiveError> {
        let mut swept = SweepResult::default();
        for partition in self.partitions_of(keys).await? {
            self.withdraw(partition).await?;
            for segment in self.segments(Some(partition)).await? {
                self.sweep_segment(segment, keys, &mut swept).await?;
            }
        }
        Ok(swept)
    }

    /// The conversations with content in a partition's segments, or in those of all, that are erased in the record.
    ///
    /// Costs a read of the record for each conversation that is in a segment and in the record, and none for a hibernated one: an
    /// erased conversation has its tombstone in the record while a segment has content of it.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn erased_conversations(
        &self,
        partition: Option<Partition>,
    ) -> Result<BTreeSet<ConversationKey>, ArchiveError> {
        let mut by_partition: BTreeMap<Partition, Vec<CataloguedSegment>> = BTreeMap::new();
        for segment in self.segments(partition).await? {
            let of_partition = by_partition.entry(segment.partition()).or_default();
            of_partition.push(segment);
        }
        let mut erased = BTreeSet::new();
        for (partition, segments) in by_partition {
            let recorded = self.recorded(partition, &segments).await?;
            let reads = stream::iter(recorded).map(|key| self.erased(key)).buffer_unordered(READS_IN_FLIGHT);
            let found: Vec<Option<ConversationKey>> = reads.try_collect().await?;
            erased.extend(found.into_iter().flatten());
        }
        Ok(erased)
    }

    /// Which of these conversations are in a segment or in a loose object.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn find_archived(
        &self,
        keys: &BTreeSet<ConversationKey>,
    ) -> Result<BTreeSet<ConversationKey>, ArchiveError> {
        let mut held = BTreeSet::new();
        for partition in self.partitions_of(keys).await? {
            for segment in self.segments(Some(partition)).await? {
                let index = self.object(&segment)?.index().await?;
                let conversations = index.content().map(|one| &one.key);
                held.extend(conversations.filter(|key| keys.contains(key)).cloned());
            }
            for entry in self.record.archive_entries(Some(partition)).await? {
                let left = self.left(&entry.entry).await?;
                held.extend(left.into_iter().filter(|key| keys.contains(key)));
            }
        }
        Ok(held)
    }

    /// The number of commits of these conversations in segments.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn count_archived_commits(&self, keys: &BTreeSet<ConversationKey>) -> Result<u64, ArchiveError> {
        let mut commits = 0_u64;
        for partition in self.partitions_of(keys).await? {
            for segment in self.segments(Some(partition)).await? {
                let index = self.object(&segment)?.index().await?;
                let held = index.content().filter(|one| keys.contains(&one.key));
                commits = held.fold(commits, |sum, one| sum.saturating_add(one.commits));
            }
        }
        Ok(commits)
    }

    async fn partitions_of(&self, keys: &BTreeSet<ConversationKey>) -> Result<BTreeSet<Partition>, Unavailable> {
        let mut partitions = BTreeSet::new();
        for key in keys {
            partitions.insert(self.record.partition_of(key).await?);
        }
        Ok(partitions)
    }

    /// The conversations of an entry's loose objects that exist in the store.
    async fn left(&self, entry: &ArchiveEntry) -> Result<Vec<ConversationKey>, ArchiveError> {
        let mut left = Vec::new();
        for name in &entry.loose {
            let store = self.store_of(entry)?;
            let object = Object::unknown(store, entry.segment, name.clone());
            match object.unchecked_index().await {
                Ok((index, _)) => left.extend(index.content().map(|one| one.key.clone())),
                Err(ArchiveError::Unreachable { source: StoreError::Missing { .. }, .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(left)
    }

    /// The conversations of a partition with content in these segments that have a commit in the record.
    async fn recorded(
        &self,
        partition: Partition,
        segments: &[CataloguedSegment],
    ) -> Result<BTreeSet<ConversationKey>, ArchiveError> {
        let listed: HashSet<_> =
            self.record.conversations(partition, None).await?.into_iter().map(|listed| listed.key).collect();
        let mut recorded = BTreeSet::new();
        for segment in segments {
            let index = self.object(segment)?.index().await?;
            let keys = index.content().map(|one| &one.key);
            recorded.extend(keys.filter(|key| listed.contains(*key)).cloned());
        }
        Ok(recorded)
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
        swept: &mut SweepResult,
    ) -> Result<(), ArchiveError> {
        let object = self.object(&segment)?;
        let index = object.index().await?;
        let erased: BTreeSet<_> = index.content().map(|one| &one.key).filter(|key| keys.contains(*key)).collect();
        if erased.is_empty() {
            return Ok(());
        }
        let hibernated = index.hibernated().map(|one| one.key.clone()).collect();
        let (_, mut messages) = object.all().await?;
        let before = messages.len();
        // Tombstones stay: they are what is left of an erased conversation.
        messages.retain(|message| !erased.contains(&message.key));
        let gone = before.saturating_sub(messages.len());
        let former = segment.sealed.object.clone();
        let replaced = self.replace(&object.store, segment, &messages, &hibernated).await?;
        object.store.remove(&former).await?;
        // Only now the store has no content of the conversations.
        self.forget(replaced, |object| object == former).await?;
        swept.segments += 1;
        swept.commits += u64::try_from(gone).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Replaces a segment's object, which becomes loose.
    async fn replace(
        &self,
        store: &Store,
        segment: CataloguedSegment,
        messages: &[ArchivedMessage],
        hibernated: &BTreeSet<ConversationKey>,
    ) -> Result<CataloguedEntry, ArchiveError> {
        let CataloguedEntry { entry, revision } = segment.catalogued;
        let former = segment.sealed.object;
        // Objects that other writers may still write stay listed.
        let loose = |one: &str| [entry.loose.clone(), vec![one.to_owned()]].concat();
        let record = &self.record;
        if messages.is_empty() {
            let marker = emptied(entry.segment, &former);
            store.put(&marker, Bytes::new()).await?;
            let empty = ArchiveEntry { sealed: None, loose: loose(&former), ..entry };
            return Ok(record.put_archive_entry(&empty, Some(revision)).await?);
        }
        let object = self.new_object(Partition(entry.partition), entry.segment);
        let writing = ArchiveEntry { loose: loose(&object), store: store.url().to_string(), ..entry.clone() };
        let entry_before = record.put_archive_entry(&writing, Some(revision)).await?;
        match self.switch(store, entry_before.clone(), &object, messages, hibernated).await {
            Ok(switched) => Ok(switched),
            Err(error) => {
                let error = remove_unsealed(store, &object, error).await;
                Err(self.cause_of(&entry_before, error).await)
            }
        }
    }

    /// Writes the last loose object of an entry, and replaces the entry's sealed object by it.
    async fn switch(
        &self,
        store: &Store,
        entry_before: CataloguedEntry,
        object: &str,
        messages: &[ArchivedMessage],
        hibernated: &BTreeSet<ConversationKey>,
    ) -> Result<CataloguedEntry, ArchiveError> {
        let CataloguedEntry { mut entry, revision } = entry_before;
        let origin = self.origin(&entry);
        let written = write(store, origin, object, messages, hibernated).await?;
        entry.loose.retain(|loose| loose != object);
        if let Some(former) = entry.sealed.take() {
            entry.loose.push(former.object);
            entry.sealed = Some(ArchivedSegment { made_at: former.made_at, is_trimmed: former.is_trimmed, ..written });
        }
        let put = self.record.put_archive_entry(&entry, Some(revision));
        Ok(put.await?)
    }
}
