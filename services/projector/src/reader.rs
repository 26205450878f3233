//! Reads one partition on from a checkpoint, opens its commits, and hands them to the projection.

use std::pin::pin;
use std::sync::Arc;

use archive::{Archive, FollowError};
use domain::{ConversationKey, Sequence, Timestamp};
use event_log::{FollowedMessage, StoredMessage, TraceHeaders};
use futures::StreamExt as _;
use read_model::projections::conversations::Item;
use read_model::projections::conversations::lease::Checkpoint;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// The unit of the read-ahead: permits count KiB, since a semaphore has room for 32 bits of them.
const KIB: usize = 1_024;
/// What a message costs for each of its bytes: the opened commit holds them again.
const BYTE_COST: usize = 2;
/// What an opened event costs beside its bytes, in bytes: about the size of its parts in memory.
const EVENT_COST: usize = 1_024;

/// A message that was read, and what is needed once it is projected.
#[derive(Debug)]
pub(crate) struct Read {
    /// Which reader read it: those of readers that were ended are thrown away.
    pub(crate) reader: ReaderId,
    pub(crate) sequence: Sequence,
    /// What to project; `None`: nothing, but the checkpoint goes on.
    pub(crate) item: Option<Item>,
    pub(crate) stored_at: Timestamp,
    pub(crate) trace: TraceHeaders,
    /// Its share of the read-ahead, given back when it is dropped.
    _share: OwnedSemaphorePermit,
}

/// Names a reader among all that this process has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ReaderId(pub(crate) u64);

/// Where readers send to, and how much they may send ahead.
#[derive(Debug, Clone)]
pub(crate) struct Outlet {
    reads: mpsc::Sender<Read>,
    share: Arc<Semaphore>,
    share_max: usize,
}

/// Most messages that are read ahead, over all partitions, whatever their size.
const READS_MAX: usize = 8_192;

impl Outlet {
    /// An outlet for at most `buffer_mib` MiB of opened commits, and where they come out.
    pub(crate) fn new(buffer_mib: u32) -> (Self, mpsc::Receiver<Read>) {
        let (reads, receiver) = mpsc::channel(READS_MAX);
        let share_max = usize::try_from(buffer_mib)
            .unwrap_or(usize::MAX)
            .saturating_mul(KIB);
        (
            Self {
                reads,
                share: Arc::new(Semaphore::new(share_max)),
                share_max,
            },
            receiver,
        )
    }

    /// Waits for room for something that costs this many bytes; what is larger than all room takes all of it.
    async fn room(&self, cost: usize) -> Option<OwnedSemaphorePermit> {
        let kib = cost.div_ceil(KIB).clamp(1, self.share_max);
        let kib = u32::try_from(kib).unwrap_or(u32::MAX);
        Arc::clone(&self.share).acquire_many_owned(kib).await.ok()
    }
}

/// Reads for ever; ended by aborting its task.
pub(crate) async fn read(archive: Archive, from: Checkpoint, reader: ReaderId, outlet: Outlet) {
    let partition = from.lease.partition;
    let mut messages = pin!(archive.follow(partition, from.sequence));
    while let Some(message) = messages.next().await {
        let message = match message {
            Ok(message) => message,
            Err(FollowError::Record(unavailable)) => {
                tracing::warn!(%partition, %unavailable, "the partition is lost, reading goes on when it is back");
                continue;
            }
            Err(FollowError::Archive(error)) => {
                let error: &dyn std::error::Error = &error;
                tracing::error!(%partition, error, "the partition's archived commits cannot be read: nothing is projected until they can be");
                continue;
            }
        };
        let item = item_of(&message);
        let Some(share) = outlet.room(cost_of(&message, item.as_ref())).await else {
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
        if outlet.reads.send(read).await.is_err() {
            return;
        }
    }
}

/// What a message that was opened takes in memory, about, in bytes.
pub(crate) fn cost_of(message: &FollowedMessage, item: Option<&Item>) -> usize {
    let events = match item {
        Some(Item::Commit(commit)) => commit.opened.commit.events.len(),
        Some(Item::Unreadable { .. }) | None => 0,
    };
    message.message.message.len() * BYTE_COST + events * EVENT_COST
}

/// What there is to project of a message; `None`: nothing.
pub(crate) fn item_of(message: &FollowedMessage) -> Option<Item> {
    if let Some(key) = &message.key {
        return Some(item(key, &message.message));
    }
    let position = message.message.position;
    tracing::error!(
        partition = %position.partition,
        sequence = %position.sequence,
        "the record holds a message under a subject that is no conversation's: it is in no row"
    );
    None
}

/// What there is to project of a message of a conversation.
pub(crate) fn item(key: &ConversationKey, message: &StoredMessage) -> Item {
    let unreadable = |reason: String| Item::Unreadable {
        key: key.clone(),
        sequence: message.position.sequence,
        reason,
    };
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
