//! Reads one partition from a checkpoint, decodes its commits and sends them to the projection.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use archive::{Archive, FollowError};
use backoff::Backoff;
use divergence::find_in_schema;
use domain::{ConversationKey, Partition, Sequence, Timestamp};
use event_log::{FollowedMessage, StoredMessage, TraceHeaders};
use futures::StreamExt as _;
use read_model::ReadModel;
use read_model::projections::conversations::Item;
use read_model::projections::conversations::lease::Checkpoint;
use runtime::failure_log::FailureLog;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Permits of the read-ahead count KiB, because a semaphore has at most 32 bits of permits.
const KIB: usize = 1_024;
/// First and longest wait between comparisons of rows that cannot be continued.
const COMPARE_WAITS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// Memory per byte of a message: the decoded commit contains a copy.
const BYTE_COST: usize = 2;
/// Memory per decoded event besides its bytes, in bytes.
const EVENT_COST: usize = 1_024;

#[derive(Debug)]
pub(crate) struct Read {
    /// The reader that sent it: messages of stopped readers are dropped.
    pub(crate) reader: ReaderId,
    pub(crate) sequence: Sequence,
    /// The content to project; `None`: only the checkpoint advances.
    pub(crate) item: Option<Item>,
    pub(crate) stored_at: Timestamp,
    pub(crate) trace: TraceHeaders,
    /// Its share of the read-ahead, released on drop.
    _share: OwnedSemaphorePermit,
}

#[cfg(test)]
impl Read {
    /// A message without content.
    pub(crate) fn at(sequence: Sequence) -> Self {
        let share = Arc::new(Semaphore::new(1)).try_acquire_owned();
        Self {
            reader: ReaderId(1),
            sequence,
            item: None,
            stored_at: Timestamp(0),
            trace: TraceHeaders::default(),
            _share: share.unwrap(),
        }
    }
}

/// The number of a reader, unique in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ReaderId(pub(crate) u64);

/// The channel of the readers, bounded by memory.
#[derive(Debug, Clone)]
pub(crate) struct ReadSender {
    reads: mpsc::Sender<Read>,
    share: Arc<Semaphore>,
    share_max: usize,
}

/// Maximum number of messages that are read ahead, of all partitions.
const READS_MAX: usize = 8_192;

impl ReadSender {
    /// A channel for at most `buffer_mib` MiB of decoded commits, and its receiver.
    pub(crate) fn new(buffer_mib: u32) -> (Self, mpsc::Receiver<Read>) {
        let (reads, receiver) = mpsc::channel(READS_MAX);
        let share_max = usize::try_from(buffer_mib).unwrap_or(usize::MAX).saturating_mul(KIB);
        let share = Arc::new(Semaphore::new(share_max));
        let sender = Self { reads, share, share_max };
        (sender, receiver)
    }

    /// Waits until `cost` bytes are free. A larger cost than the whole buffer takes all of it.
    async fn reserve(&self, cost: usize) -> Option<OwnedSemaphorePermit> {
        let kib = u32::try_from(cost.div_ceil(KIB).clamp(1, self.share_max)).unwrap_or(u32::MAX);
        Arc::clone(&self.share).acquire_many_owned(kib).await.ok()
    }
}

/// What a reader reads.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) archive: Archive,
    /// The rows that the messages continue.
    pub(crate) model: ReadModel,
    /// Bounds the lines about failures: all readers fail at the same time, again and again.
    pub(crate) outages: FailureLog,
}

impl Source {
    /// Waits until the record has what the rows contain of a partition: a checkpoint of another record, or of commits that this one has
    /// lost, must not be continued.
    async fn wait_until_continued(&self, partition: Partition) {
        let mut backoff = Backoff::new(COMPARE_WAITS.0, COMPARE_WAITS.1);
        loop {
            let failure = match find_in_schema(self.archive.record(), &self.model, Some(partition)).await {
                Ok(found) if found.is_empty() => return,
                Ok(found) => found.first().map(ToString::to_string).unwrap_or_default(),
                Err(error) => error.to_string(),
            };
            if let Some(unlogged) = self.outages.failed(Instant::now()) {
                tracing::warn!(%partition, failure, unlogged, "the rows of the partition are not continued; trying again");
            }
            backoff.wait().await;
        }
    }

    fn log(&self, partition: Partition, failure: &FollowError) {
        let Some(unlogged) = self.outages.failed(Instant::now()) else { return };
        match failure {
            FollowError::Record(unavailable) => {
                tracing::warn!(%partition, %unavailable, unlogged, "the partition is unavailable; reading continues when it is back");
            }
            FollowError::Archive(error) => {
                let error: &dyn std::error::Error = error;
                tracing::error!(%partition, error, unlogged, "the archived commits of the partition cannot be read; its projection waits for them");
            }
        }
    }
}

/// Reads until its task is aborted.
pub(crate) async fn read(source: Source, from: Checkpoint, reader: ReaderId, sender: ReadSender) {
    let partition = from.lease.partition;
    source.wait_until_continued(partition).await;
    let mut messages = pin!(source.archive.follow(partition, from.sequence));
    while let Some(message) = messages.next().await {
        let message = match message {
            Ok(message) => message,
            Err(failure) => {
                source.log(partition, &failure);
                continue;
            }
        };
        let item = item_of(&message);
        let Some(share) = sender.reserve(cost_of(&message, item.as_ref())).await else {
            return;
        };
        let read = Read {
            reader,
            sequence: message.message.position.sequence,
            stored_at: message.stored_at,
            item,
            trace: message.message.trace,
            _share: share,
        };
        if sender.reads.send(read).await.is_err() {
            return;
        }
    }
}

/// The approximate memory of a decoded message, in bytes.
pub(crate) fn cost_of(message: &FollowedMessage, item: Option<&Item>) -> usize {
    let events = match item {
        Some(Item::Commit(commit)) => commit.opened.commit.events.len(),
        Some(Item::Unreadable { .. }) | None => 0,
    };
    message.message.message.len() * BYTE_COST + events * EVENT_COST
}

/// Number of event rows that an item counts for.
pub(crate) fn rows_of(item: Option<&Item>) -> usize {
    match item {
        Some(Item::Commit(commit)) => commit.opened.commit.events.len(),
        Some(Item::Unreadable { .. }) | None => 1,
    }
}

/// The content of a message to project; `None`: it is no commit, or belongs to no conversation.
pub(crate) fn item_of(message: &FollowedMessage) -> Option<Item> {
    if message.is_skipped() {
        return None;
    }
    if let Some(key) = &message.key {
        return Some(item(key, &message.message));
    }
    let position = message.message.position;
    tracing::error!(
        partition = %position.partition,
        sequence = %position.sequence,
        "the subject of a message belongs to no conversation; the message has no rows"
    );
    None
}

/// The content of a message of a conversation.
pub(crate) fn item(key: &ConversationKey, message: &StoredMessage) -> Item {
    let unreadable =
        |reason: String| Item::Unreadable { key: key.clone(), sequence: message.position.sequence, reason };
    match message.open() {
        Err(corrupt) => unreadable(corrupt.source.to_string()),
        Ok(stored) => {
            let commit = &stored.opened.commit;
            if commit.tenant == key.tenant && commit.conversation == key.conversation {
                return Item::Commit(Box::new(stored));
            }
            unreadable("the commit names another conversation than its subject".to_owned())
        }
    }
}
