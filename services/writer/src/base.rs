//! What a commit rests on: the head of a conversation and the sequence of the commit that carries it.

use std::sync::Arc;

use domain::{ConversationKey, Head, Sequence};
use event_log::{Record, StoredMessage};
use quick_cache::sync::Cache;
use wire::status::Problem;

use crate::problem;

/// A conversation's head and where it was read.
#[derive(Debug, Clone)]
pub struct Base {
    /// The head.
    pub head: Head,
    /// The sequence of the commit that carries it.
    pub sequence: Sequence,
}

/// A conversation's base, and how sure it is.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// `None`: the conversation is not there.
    pub base: Option<Arc<Base>>,
    /// Whether it comes from the stream's leader. Only then may a command be rejected by it: a cache or a follower may
    /// be behind another writer.
    pub is_certain: bool,
}

impl Loaded {
    /// The head, where the conversation is there.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        self.base.as_deref().map(|base| &base.head)
    }
}

/// The heads of conversations written to of late; at most `heads_cached_max` of them, about 1 KiB each.
#[derive(Debug)]
pub struct Bases {
    record: Record,
    cached: Cache<ConversationKey, Arc<Base>>,
}

impl Bases {
    /// A cache over the record.
    #[must_use]
    pub fn new(record: Record, heads_cached_max: usize) -> Self {
        Self {
            record,
            cached: Cache::new(heads_cached_max),
        }
    }

    /// The base, from the cache or else by one read of the subject's last commit.
    ///
    /// # Errors
    /// The record does not answer, or its last commit cannot be read.
    pub async fn load(&self, key: &ConversationKey) -> Result<Loaded, Problem> {
        if let Some(base) = self.cached.get(key) {
            return Ok(Loaded {
                base: Some(base),
                is_certain: false,
            });
        }
        let last = self.record.last(key).await.map_err(problem::of_record)?;
        Ok(Loaded {
            base: self.take(key, last)?,
            is_certain: false,
        })
    }

    /// The base, read from the stream's leader.
    ///
    /// # Errors
    /// As [`Bases::load`].
    pub async fn load_certain(&self, key: &ConversationKey) -> Result<Loaded, Problem> {
        let last = self
            .record
            .last_from_leader(key)
            .await
            .map_err(problem::of_record)?;
        Ok(Loaded {
            base: self.take(key, last)?,
            is_certain: true,
        })
    }

    /// The base that a message of the conversation carries, which is kept.
    ///
    /// # Errors
    /// The message cannot be read.
    fn take(
        &self,
        key: &ConversationKey,
        last: Option<StoredMessage>,
    ) -> Result<Option<Arc<Base>>, Problem> {
        let Some(last) = last else {
            self.cached.remove(key);
            return Ok(None);
        };
        let sequence = last.position.sequence;
        let head = last
            .open_head()
            .map_err(|corrupt| problem::of_corrupt(&corrupt))?;
        let base = Arc::new(Base { head, sequence });
        self.cached.insert(key.clone(), Arc::clone(&base));
        Ok(Some(base))
    }

    /// Keeps the base after a commit of our own.
    pub fn keep(&self, key: &ConversationKey, base: Base) {
        self.cached.insert(key.clone(), Arc::new(base));
    }
}
