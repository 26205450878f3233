//! Following one partition: reads on from the checkpoint, opens each message, and hands it to a lane.

use std::sync::Arc;

use domain::{Sequence, Timestamp};
use event_log::{FollowedMessage, Record, TraceHeaders};
use futures::StreamExt as _;
use read_model::projections::conversations::Item;
use read_model::projections::conversations::lease::{Checkpoint, Lease};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;

use crate::lane::ToLane;
use crate::metrics;
use crate::open::open;

/// Memory is counted out in pieces of so many bytes.
const PERMIT_BYTES: usize = 1_024;

/// A message on its way into a transaction. It holds its share of the partition's memory until it is dropped.
#[derive(Debug)]
pub(crate) struct Ready {
    /// Under which lease it was read.
    pub(crate) lease: Lease,
    /// Its place.
    pub(crate) sequence: Sequence,
    /// What is to be written; `None`: the checkpoint alone moves on.
    pub(crate) item: Option<Item>,
    /// How many rows of events it makes.
    pub(crate) rows: usize,
    /// When it was recorded.
    pub(crate) recorded_at: Option<Timestamp>,
    /// The trace that it was appended under.
    pub(crate) trace: TraceHeaders,
    /// When it came here.
    pub(crate) arrived: Instant,
    _memory: Option<OwnedSemaphorePermit>,
}

/// Follows a partition until it is dropped, or the lane is gone.
pub(crate) async fn follow(
    record: Record,
    from: Checkpoint,
    bytes_max: usize,
    lane: mpsc::Sender<ToLane>,
) {
    let memory = Memory::of(bytes_max);
    let mut messages = record.follow(from.lease.partition, from.sequence);
    while let Some(followed) = messages.next().await {
        // A loss mends itself, and the health of the record tells of it.
        let Ok(followed) = followed else { continue };
        let ready = ready(from.lease, followed, &memory).await;
        if lane.send(ToLane::Ready(Box::new(ready))).await.is_err() {
            return;
        }
    }
}

async fn ready(lease: Lease, followed: FollowedMessage, memory: &Memory) -> Ready {
    let message = followed.message;
    let opened = open(&message);
    let position = message.position;
    if opened.item.is_none() {
        metrics::unplaceable();
        tracing::error!(
            partition = position.partition.0,
            sequence = position.sequence.0,
            "a message of the record names no conversation: it is left out of the read models"
        );
    }
    Ready {
        lease,
        sequence: position.sequence,
        rows: opened.rows,
        recorded_at: opened.recorded_at,
        item: opened.item,
        trace: message.trace,
        arrived: Instant::now(),
        _memory: memory.take(opened.bytes).await,
    }
}

/// The memory that a partition may take.
struct Memory {
    permits: Arc<Semaphore>,
    most: u32,
}

impl Memory {
    fn of(bytes_max: usize) -> Self {
        let most = u32::try_from(bytes_max / PERMIT_BYTES).unwrap_or(u32::MAX).max(1);
        let permits = usize::try_from(most).unwrap_or(Semaphore::MAX_PERMITS);
        Self { permits: Arc::new(Semaphore::new(permits)), most }
    }

    /// Waits for so many bytes, or for all that there are.
    async fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let wanted = u32::try_from(bytes.div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX);
        let permits = Arc::clone(&self.permits);
        permits.acquire_many_owned(wanted.min(self.most)).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn memory_is_bounded_and_one_commit_always_fits() {
        let memory = Memory::of(4 * PERMIT_BYTES);
        let small = memory.take(PERMIT_BYTES).await.unwrap();
        let rest = memory.take(3 * PERMIT_BYTES).await.unwrap();
        let mut more = Box::pin(memory.take(1));
        assert!(futures::poll!(&mut more).is_pending());
        drop(small);
        assert!(more.await.is_some());
        drop(rest);
        let whole = memory.take(usize::MAX).await.unwrap();
        assert_eq!(whole.num_permits(), 4);
        assert_eq!(Memory::of(1).most, 1);
    }
}
