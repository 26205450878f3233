//! Erasing from segments: one that holds what is to go is written anew without it, and its former object is removed.

use std::collections::BTreeSet;

use bytes::Bytes;
use domain::{ConversationKey, Partition, Status};
use event_log::{ArchiveEntry, ArchivedSegment, CataloguedEntry};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::adopt::emptied;
use crate::alone::unknown;
use crate::archive::{Archive, CataloguedSegment};
use crate::error::ArchiveError;
use crate::indexes::Indexes;
use crate::object::Object;
use crate::seal::{take_back, write};
use crate::segment::ArchivedMessage;
use crate::store::{Store, StoreError};

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
    /// Takes conversations out of every segment, makes every write of their partitions that is under way fail, and removes
    /// what is loose there: once this returns, nothing of them is in the archive but what a writer may just be writing, who
    /// takes it back or, killed in that moment, leaves it named in the catalogue for the next [`Archive::tidy`].
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
            self.withdraw(partition).await?;
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

    /// Those of some conversations that are in a segment, or in a loose object that a writer has left.
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
            for entry in self.record.archive_entries(Some(partition)).await? {
                let left = self.left(&entry.entry).await?;
                held.extend(left.into_iter().filter(|key| keys.contains(key)));
            }
        }
        Ok(held)
    }

    /// How many commits of some conversations segments hold.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub async fn commits_held(
        &self,
        keys: &BTreeSet<ConversationKey>,
    ) -> Result<u64, ArchiveError> {
        let mut commits = 0_u64;
        let of = |key: &ConversationKey| self.record.partition_of(key);
        let partitions: BTreeSet<Partition> = keys.iter().map(of).collect();
        for partition in partitions {
            for segment in self.segments(Some(partition)).await? {
                let index = self.object(&segment)?.index().await?;
                let held = index.conversations.iter();
                let held = held.filter(|one| keys.contains(&one.key));
                commits = held.fold(commits, |sum, one| sum.saturating_add(one.commits));
            }
        }
        Ok(commits)
    }

    /// The conversations of an entry's loose objects that are in the store.
    async fn left(&self, entry: &ArchiveEntry) -> Result<Vec<ConversationKey>, ArchiveError> {
        let mut left = Vec::new();
        for name in &entry.loose {
            let object = Object {
                store: self.store_of(entry)?,
                segment: entry.segment,
                sealed: unknown(name.clone()),
                indexes: Indexes::default(),
            };
            match object.index_alone().await {
                Ok((index, _)) => left.extend(index.conversations.into_iter().map(|one| one.key)),
                Err(ArchiveError::Unreachable {
                    source: StoreError::Missing { .. },
                    ..
                }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(left)
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
        let former = segment.sealed.object.clone();
        let replaced = self.replace(&object.store, segment, &messages).await?;
        object.store.remove(&former).await?;
        // Only now nothing of them is in the store.
        self.forget(replaced, |object| object == former).await?;
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
        let former = segment.sealed.object;
        // What others may still be about to write stays named.
        let loose = |one: &str| [entry.loose.clone(), vec![one.to_owned()]].concat();
        let record = &self.record;
        if messages.is_empty() {
            let mark = emptied(entry.segment, &former);
            store.put(&mark, Bytes::new()).await?;
            let empty = ArchiveEntry {
                sealed: None,
                loose: loose(&former),
                ..entry
            };
            return Ok(record.put_archive_entry(&empty, Some(revision)).await?);
        }
        let object = self.new_object(Partition(entry.partition), entry.segment);
        let writing = ArchiveEntry {
            loose: loose(&object),
            store: store.url().to_string(),
            ..entry.clone()
        };
        let begun = record.put_archive_entry(&writing, Some(revision)).await?;
        match self.switch(store, begun.clone(), &object, messages).await {
            Ok(switched) => Ok(switched),
            Err(error) => {
                let taken_back = take_back(store, &object, error).await;
                Err(self.why(&begun, taken_back).await)
            }
        }
    }

    /// Writes the object that an entry names last, and puts it in the place of the entry's sealed one.
    async fn switch(
        &self,
        store: &Store,
        begun: CataloguedEntry,
        object: &str,
        messages: &[ArchivedMessage],
    ) -> Result<CataloguedEntry, ArchiveError> {
        let CataloguedEntry {
            mut entry,
            revision,
        } = begun;
        let written = write(store, self.origin(&entry), object.to_owned(), messages).await?;
        entry.loose.retain(|loose| loose != object);
        if let Some(former) = entry.sealed.take() {
            entry.loose.push(former.object);
            entry.sealed = Some(ArchivedSegment {
                made_at: former.made_at,
                is_trimmed: former.is_trimmed,
                ..written
            });
        }
        Ok(self
            .record
            .put_archive_entry(&entry, Some(revision))
            .await?)
    }
}
