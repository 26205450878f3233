//! The key-value buckets of the record: streams that keep the last value of each key. The registry and the receipt keys
//! decide what an entry means.

use bytes::Bytes;
use domain::Sequence;
use tokio::time::timeout_at;

use crate::connection::consumer::ConsumedMessage;
use crate::connection::get::{MessageQuery, RawMessage};
use crate::error::Unavailable;
use crate::put::Put;
use crate::read::feed::{Feed, FeedItem};
use crate::record::Record;
use crate::seal::MasterKeys;
use crate::topology::{self, REGISTRY_PREFIX, REGISTRY_STREAM, RESTRICTED_PREFIX, RESTRICTED_STREAM};

/// A bucket.
#[derive(Debug, Clone)]
pub struct Bucket {
    record: Record,
    stream: &'static str,
    prefix: &'static str,
}

/// The value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketEntry {
    /// The key: tokens of a subject, separated by dots.
    pub key: String,
    /// It changes with each value of the key.
    pub revision: Sequence,
    /// The bytes.
    pub value: Bytes,
}

/// The outcome of a conditional put. Each is final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BucketPut {
    /// The value is the current one, with this revision.
    Stored(Sequence),
    /// The current entry is neither the expected one nor this value.
    Superseded(Option<BucketEntry>),
}

/// The changes of a bucket, in order. It never ends.
pub struct BucketChanges {
    feed: Feed,
    prefix: &'static str,
}

/// A change of a bucket, or of the state of its feed.
#[derive(Debug)]
pub enum BucketChange {
    /// Changes arrive, for the first time or again.
    Started,
    /// A key has a new value.
    Entry(BucketEntry),
    /// No changes arrive at present; the feed recovers by itself.
    Lost(Unavailable),
}

impl Record {
    /// The bucket of the registry, which every role reads.
    #[must_use]
    pub fn registry_bucket(&self) -> Bucket {
        Bucket { record: self.clone(), stream: REGISTRY_STREAM, prefix: REGISTRY_PREFIX }
    }

    /// The keys that encrypt the secrets of the registry.
    #[must_use]
    pub fn registry_keys(&self) -> MasterKeys {
        self.config().master_keys.for_registry()
    }

    /// The bucket that only writers and operators read. A restored record may have none.
    #[must_use]
    pub fn restricted_bucket(&self) -> Bucket {
        Bucket { record: self.clone(), stream: RESTRICTED_STREAM, prefix: RESTRICTED_PREFIX }
    }

    /// Creates the restricted bucket, if there is none.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn ensure_restricted_bucket(&self) -> Result<(), Unavailable> {
        topology::ensure_restricted(self.connection(), self.identity(), self.config(), self.deadline()).await
    }
}

impl Bucket {
    /// The name of its stream.
    #[must_use]
    pub fn stream(&self) -> &'static str {
        self.stream
    }

    /// Whether it exists.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn exists(&self) -> Result<bool, Unavailable> {
        let info = topology::info(self.record.connection(), self.stream, self.record.deadline());
        Ok(info.await?.is_some())
    }

    /// The entry of a key, from the leader.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn get(&self, key: &str) -> Result<Option<BucketEntry>, Unavailable> {
        let subject = self.subject(key);
        let last = MessageQuery::LastOfSubject(&subject);
        let message = self.record.get_from_leader(self.stream, &last).await?;
        Ok(message.and_then(|message| entry_of(self.prefix, message)))
    }

    /// Puts the value of a key, if its current revision is `expected`; `None`: if it has no value. `rejected`: the error of a
    /// rejection.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn put(
        &self,
        key: &str,
        value: Bytes,
        expected: Option<Sequence>,
        rejected: &'static str,
    ) -> Result<BucketPut, Unavailable> {
        let put = self.record.put(self.stream, self.subject(key), expected, value, rejected);
        Ok(match put.await? {
            Put::Stored(revision) => BucketPut::Stored(revision),
            Put::Superseded(last) => BucketPut::Superseded(last.and_then(|last| entry_of(self.prefix, last))),
        })
    }

    /// The keys that begin with a token.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn keys(&self, token: &str) -> Result<Vec<String>, Unavailable> {
        let subjects = self.record.subjects(self.stream, &self.subject(&format!("{token}.>"))).await?;
        let keys = subjects.into_keys().filter_map(|subject| Some(subject.strip_prefix(self.prefix)?.to_owned()));
        Ok(keys.collect())
    }

    /// Overwrites the bytes of an entry by its revision; returns whether it was there. Watchers are not notified.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn erase(&self, revision: Sequence) -> Result<bool, Unavailable> {
        self.record.erase_message(self.stream, revision).await
    }

    /// Reads every entry of the leader; returns the later changes.
    ///
    /// # Errors
    /// [`Unavailable`] when there is no such bucket, or it cannot be loaded within the request timeout.
    pub async fn load(&self, mut apply: impl FnMut(BucketEntry) + Send) -> Result<BucketChanges, Unavailable> {
        let deadline = self.record.deadline();
        let info = topology::info(self.record.connection(), self.stream, deadline)
            .await?
            .ok_or(Unavailable::new("a bucket of the record is missing"))?;
        let mut changes = BucketChanges {
            feed: Feed::new(self.record.clone(), self.stream.to_owned(), Sequence(0)),
            prefix: self.prefix,
        };
        let last = Sequence(info.state.last_seq);
        let mut is_loaded = info.state.messages == 0;
        let loading = async {
            while !is_loaded {
                if let FeedItem::Message(message) = changes.feed.next().await {
                    is_loaded = self.is_end(&message, last).await?;
                    consumed(self.prefix, message).into_iter().for_each(&mut apply);
                }
            }
            Ok::<_, Unavailable>(())
        };
        let late = Unavailable::new("loading a bucket of the record timed out");
        timeout_at(deadline, loading).await.map_err(|_| late)??;
        Ok(changes)
    }

    /// Whether every entry up to `last`, which the leader returned before the read, was read. A consumer's pending count is that of its
    /// replica, which may lag; the leader decides.
    async fn is_end(&self, read: &ConsumedMessage, last: Sequence) -> Result<bool, Unavailable> {
        if read.sequence >= last {
            return Ok(true);
        }
        if read.pending > 0 {
            return Ok(false);
        }
        // The last entry may have been erased since.
        let next = self.record.next_on_leader(self.stream, read.sequence);
        Ok(next.await?.is_none())
    }

    fn subject(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }
}

impl BucketChanges {
    /// The next change.
    pub async fn next(&mut self) -> BucketChange {
        loop {
            match self.feed.next().await {
                FeedItem::Started => return BucketChange::Started,
                FeedItem::Lost(unavailable) => return BucketChange::Lost(unavailable),
                FeedItem::Message(message) => {
                    if let Some(entry) = consumed(self.prefix, message) {
                        return BucketChange::Entry(entry);
                    }
                }
            }
        }
    }
}

fn entry_of(prefix: &str, message: RawMessage) -> Option<BucketEntry> {
    let key = message.subject.strip_prefix(prefix)?.to_owned();
    Some(BucketEntry { key, revision: message.sequence, value: message.payload })
}

fn consumed(prefix: &str, message: ConsumedMessage) -> Option<BucketEntry> {
    let key = message.message.subject.strip_prefix(prefix)?.to_owned();
    Some(BucketEntry { key, revision: message.sequence, value: message.message.payload })
}
