//! The segments with hibernated conversations that this process knows.

mod segment_keys;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use domain::{ConversationKey, Partition, Sequence};
use event_log::CatalogueRevision;
use tokio::sync::{Mutex, OnceCell, OwnedMutexGuard};
use tokio::time::Instant;

use self::segment_keys::{KEYS_MAX, SegmentKeys};
use crate::ArchiveError;
use crate::object::Object;
use crate::segment::ArchivedMessage;

/// The known segments. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownSegments(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    known: RwLock<Option<Known>>,
    reading: Arc<Mutex<()>>,
}

/// The right to read the catalogue, which one call has at a time.
pub(crate) type Reading = OwnedMutexGuard<()>;

/// The segments of a revision of the catalogue.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) revision: Option<CatalogueRevision>,
    /// When the read of the revision began; `None`: expired.
    pub(crate) read_at: Option<Instant>,
    pub(crate) segments: Arc<Segments>,
}

/// The segments with hibernated conversations, the newest first.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    list: Vec<Arc<Segment>>,
    /// How many keys are in memory.
    keys: AtomicUsize,
}

#[derive(Debug)]
struct Segment {
    partition: Partition,
    object: Object,
    /// Read when they are needed first; `None`: too many are in memory already.
    keys: OnceCell<Option<SegmentKeys>>,
}

impl KnownSegments {
    /// What is known, however old.
    pub(crate) fn get(&self) -> Option<Known> {
        self.read().clone()
    }

    /// The segments, unless they were read longer ago than `age_max`.
    pub(crate) fn recent(&self, age_max: Duration) -> Option<Arc<Segments>> {
        let known = self.get()?;
        let is_recent = known.read_at?.elapsed() < age_max;
        is_recent.then_some(known.segments)
    }

    /// Waits for the right to read the catalogue, so that one call reads it for all.
    pub(crate) async fn lock(&self) -> Reading {
        Arc::clone(&self.0.reading).lock_owned().await
    }

    /// The right to read the catalogue again, if the segments were read longer ago than `age` and nobody reads it now.
    pub(crate) fn begin_refresh(&self, age: Duration) -> Option<Reading> {
        let read_at = self.read().as_ref()?.read_at?;
        if read_at.elapsed() < age {
            return None;
        }
        Arc::clone(&self.0.reading).try_lock_owned().ok()
    }

    pub(crate) fn set(&self, known: Known) {
        *self.write() = Some(known);
    }

    /// Makes the next call read the catalogue again. Unchanged segments keep their keys.
    pub(crate) fn expire(&self) {
        if let Some(known) = self.write().as_mut() {
            known.read_at = None;
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Option<Known>> {
        self.0.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Option<Known>> {
        self.0.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Segments {
    /// The segments of a catalogue; those that are known keep their keys.
    pub(crate) fn of(listed: Vec<(Partition, Object)>, before: &Self) -> Self {
        let mut list: Vec<_> = listed
            .into_iter()
            .map(|(partition, object)| {
                let is_known = |known: &&Arc<Segment>| known.object.sealed.object == object.sealed.object;
                match before.list.iter().find(is_known) {
                    Some(known) => Arc::clone(known),
                    None => Arc::new(Segment { partition, object, keys: OnceCell::new() }),
                }
            })
            .collect();
        list.sort_by_key(|one| std::cmp::Reverse(one.object.sealed.last_sequence));
        let held = list.iter().filter_map(|one| one.keys.get()?.as_ref());
        let keys = held.map(SegmentKeys::len).sum();
        Self { list, keys: AtomicUsize::new(keys) }
    }

    /// Whether no conversation is hibernated after a sequence.
    pub(crate) fn has_none_after(&self, after: Sequence) -> bool {
        self.later(after).next().is_none()
    }

    /// The last commit of a conversation that is hibernated after a sequence, in one of these partitions.
    pub(crate) async fn find(
        &self,
        key: &ConversationKey,
        partitions: &[Partition],
        after: Sequence,
    ) -> Result<Option<ArchivedMessage>, ArchiveError> {
        let may_have = |one: &&Arc<Segment>| partitions.contains(&one.partition);
        for Segment { object, keys, .. } in self.later(after).filter(may_have).map(AsRef::as_ref) {
            let held = keys.get_or_try_init(async || {
                let keys = SegmentKeys::read(object).await?;
                Ok::<_, ArchiveError>(self.admits(keys.len()).then_some(keys))
            });
            let found = match held.await? {
                Some(keys) => keys.find(object, key).await?,
                None => SegmentKeys::read(object).await?.find(object, key).await?,
            };
            if let Some(found) = found {
                return Ok(Some(found).filter(|found| found.sequence() > after));
            }
        }
        Ok(None)
    }

    /// The segments that end after a sequence.
    fn later(&self, after: Sequence) -> impl Iterator<Item = &Arc<Segment>> {
        let is_later = move |one: &&Arc<Segment>| one.object.sealed.last_sequence > after.0;
        self.list.iter().take_while(is_later)
    }

    /// Whether so many more keys may be in memory.
    fn admits(&self, keys: usize) -> bool {
        let add = |held: usize| Some(held.saturating_add(keys)).filter(|sum| *sum <= KEYS_MAX);
        let relaxed = Ordering::Relaxed;
        self.keys.fetch_update(relaxed, relaxed, add).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_memory_are_bounded() {
        let segments = Segments::default();
        for (keys, expected) in [(KEYS_MAX - 1, true), (2, false), (1, true), (1, false), (0, true)] {
            assert_eq!(segments.admits(keys), expected, "{keys}");
        }
    }
}
