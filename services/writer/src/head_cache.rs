//! The heads of conversations: read from the record, and cached.

use std::sync::Arc;
use std::time::Instant;

use archive::{Archive, CACHED_HEAD_AGE_MAX};
use domain::{ConversationKey, Head, Partition, Sequence, Version};
use event_log::StoredMessage;
use quick_cache::sync::Cache;
use wire::status::Problem;

use crate::problem;

/// The head of a conversation, and its commit.
#[derive(Debug, Clone)]
pub(crate) struct StoredHead {
    pub(crate) head: Head,
    /// The sequence of the commit with this head.
    pub(crate) sequence: Sequence,
    /// The last commit of the conversation in the record: this one, unless the conversation is hibernated.
    pub(crate) recorded: Option<Sequence>,
    /// The partition of the commit if the conversation is hibernated.
    pub(crate) hibernated_in: Option<Partition>,
    /// The version that was read from the record; this writer has appended the later commits itself.
    pub(crate) loaded_through: Version,
}

#[derive(Debug, Clone)]
pub(crate) struct LoadedHead {
    /// `None`: the conversation does not exist.
    pub(crate) stored: Option<Arc<StoredHead>>,
    /// Whether it was read from the leader of the stream. A command is rejected only by such a head: the cache or a follower
    /// may lack a commit of another writer.
    pub(crate) from_leader: bool,
}

impl LoadedHead {
    /// The head, if the conversation exists.
    pub(crate) fn head(&self) -> Option<&Head> {
        self.stored.as_deref().map(|stored| &stored.head)
    }
}

/// The heads of recently written conversations: at most `heads_cached_max`, about 1 KiB each, and at most [`CACHED_HEAD_AGE_MAX`] old.
#[derive(Debug)]
pub(crate) struct HeadCache {
    archive: Archive,
    cached: Cache<ConversationKey, Cached>,
}

#[derive(Debug, Clone)]
struct Cached {
    stored: Arc<StoredHead>,
    since: Instant,
}

impl HeadCache {
    pub(crate) fn new(archive: Archive, heads_cached_max: usize) -> Self {
        Self { archive, cached: Cache::new(heads_cached_max) }
    }

    /// The version in the cache; 0 if the cache does not have the conversation.
    pub(crate) fn cached_version(&self, key: &ConversationKey) -> Version {
        let cached = self.cached.get(key);
        cached.map_or(Version::ZERO, |cached| cached.stored.head.version)
    }

    /// The head from the cache, else from the last commit of the subject.
    /// Errors: the record does not answer, or its last commit cannot be read.
    pub(crate) async fn load(&self, key: &ConversationKey) -> Result<LoadedHead, Problem> {
        let cached = self.cached.get(key).filter(|one| one.since.elapsed() < CACHED_HEAD_AGE_MAX);
        let stored = if let Some(cached) = cached {
            Some(cached.stored)
        } else {
            let last = self.archive.record().last(key).await.map_err(problem::from_record)?;
            self.keep_last(key, last).await?
        };
        Ok(LoadedHead { stored, from_leader: false })
    }

    /// The head from the leader of the stream.
    /// Errors: as [`HeadCache::load`].
    pub(crate) async fn load_from_leader(&self, key: &ConversationKey) -> Result<LoadedHead, Problem> {
        let last = self.archive.record().last_from_leader(key).await.map_err(problem::from_record)?;
        Ok(LoadedHead { stored: self.keep_last(key, last).await?, from_leader: true })
    }

    /// The head of a hibernated conversation, or that of the last message in the record, which is cached. The head of a hibernated
    /// conversation is not: an append after it expects an empty subject, and the subject is empty again when another process has
    /// appended and the conversation is hibernated again.
    /// Errors: the archive does not answer, or the message cannot be read.
    async fn keep_last(
        &self,
        key: &ConversationKey,
        last: Option<StoredMessage>,
    ) -> Result<Option<Arc<StoredHead>>, Problem> {
        let last = self.archive.later_of(key, last).await;
        let Some(last) = last.map_err(problem::from_record)? else {
            self.cached.remove(key);
            return Ok(None);
        };
        let sequence = last.message.position.sequence;
        let head = last.message.open_head().map_err(problem::from_corrupt)?;
        let stored = Arc::new(StoredHead {
            loaded_through: head.version,
            head,
            sequence,
            recorded: last.recorded,
            hibernated_in: last.hibernated_in,
        });
        if stored.hibernated_in.is_some() {
            self.cached.remove(key);
        } else {
            self.insert(key, Arc::clone(&stored));
        }
        Ok(Some(stored))
    }

    /// Caches the head of a commit of this writer.
    pub(crate) fn keep(&self, key: &ConversationKey, stored: StoredHead) {
        self.insert(key, Arc::new(stored));
    }

    fn insert(&self, key: &ConversationKey, stored: Arc<StoredHead>) {
        let since = Instant::now();
        self.cached.insert(key.clone(), Cached { stored, since });
    }
}
