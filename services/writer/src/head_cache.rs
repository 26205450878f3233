//! The heads of conversations: read from the record, and cached.

use std::sync::Arc;

use domain::{ConversationKey, Head, Sequence, Version};
use event_log::{Record, StoredMessage};
use quick_cache::sync::Cache;
use wire::status::Problem;

use crate::problem;

/// The head of a conversation, and its commit.
#[derive(Debug, Clone)]
pub(crate) struct StoredHead {
    pub(crate) head: Head,
    /// The sequence of the commit with this head.
    pub(crate) sequence: Sequence,
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

/// The heads of recently written conversations: at most `heads_cached_max`, about 1 KiB each.
#[derive(Debug)]
pub(crate) struct HeadCache {
    record: Record,
    cached: Cache<ConversationKey, Arc<StoredHead>>,
}

impl HeadCache {
    pub(crate) fn new(record: Record, heads_cached_max: usize) -> Self {
        Self {
            record,
            cached: Cache::new(heads_cached_max),
        }
    }

    /// The version in the cache; 0 if the cache does not have the conversation.
    pub(crate) fn cached_version(&self, key: &ConversationKey) -> Version {
        let cached = self.cached.get(key);
        cached.map_or(Version::ZERO, |stored| stored.head.version)
    }

    /// The head from the cache, else from the last commit of the subject.
    /// Errors: the record does not answer, or its last commit cannot be read.
    pub(crate) async fn load(&self, key: &ConversationKey) -> Result<LoadedHead, Problem> {
        let cached = self.cached.get(key);
        let stored = if cached.is_some() {
            cached
        } else {
            let last = self.record.last(key).await.map_err(problem::from_record)?;
            self.keep_last(key, last)?
        };
        Ok(LoadedHead {
            stored,
            from_leader: false,
        })
    }

    /// The head from the leader of the stream.
    /// Errors: as [`HeadCache::load`].
    pub(crate) async fn load_from_leader(
        &self,
        key: &ConversationKey,
    ) -> Result<LoadedHead, Problem> {
        let last = self.record.last_from_leader(key).await;
        Ok(LoadedHead {
            stored: self.keep_last(key, last.map_err(problem::from_record)?)?,
            from_leader: true,
        })
    }

    /// Caches the head of the last message.
    /// Errors: the message cannot be read.
    fn keep_last(
        &self,
        key: &ConversationKey,
        last: Option<StoredMessage>,
    ) -> Result<Option<Arc<StoredHead>>, Problem> {
        let Some(last) = last else {
            self.cached.remove(key);
            return Ok(None);
        };
        let sequence = last.position.sequence;
        let head = last.open_head().map_err(problem::from_corrupt)?;
        let stored = Arc::new(StoredHead {
            loaded_through: head.version,
            head,
            sequence,
        });
        self.cached.insert(key.clone(), Arc::clone(&stored));
        Ok(Some(stored))
    }

    /// Caches the head of a commit of this writer.
    pub(crate) fn keep(&self, key: &ConversationKey, stored: StoredHead) {
        self.cached.insert(key.clone(), Arc::new(stored));
    }
}
