//! The record of one partition, in chunks that are large enough for COPY and small enough for memory.

use std::pin::pin;
use std::time::Duration;

use archive::{Archive, ArchiveError, FollowError};
use domain::{Partition, Sequence};
use event_log::FollowedMessage;
use futures::StreamExt as _;
use read_model::projections::conversations::Item;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::reader::{cost_of, item_of};

/// Rows of events that make a chunk full; one commit may exceed it.
pub const CHUNK_ROWS: usize = 20_000;
/// Bytes of opened commits that make a chunk full.
pub const CHUNK_BYTES: usize = 24 * 1_024 * 1_024;
/// When nothing comes for so long, there is nothing up to the end: its last messages were erased. Were there any, they would
/// only be projected later.
const QUIET_MAX: Duration = Duration::from_secs(2);

/// Messages that follow each other.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) items: Vec<Item>,
    /// The sequence of the last message.
    pub(super) last: Sequence,
    rows: usize,
    bytes: usize,
}

impl Chunk {
    fn add(&mut self, message: &FollowedMessage) {
        let item = item_of(message);
        self.last = message.message.position.sequence;
        self.bytes += cost_of(message, item.as_ref());
        self.rows += match &item {
            Some(Item::Commit(commit)) => commit.opened.commit.events.len(),
            Some(Item::Unreadable { .. }) | None => 1,
        };
        self.items.extend(item);
    }

    /// The rows of events that it comes to.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    fn is_full(&self) -> bool {
        self.rows >= CHUNK_ROWS || self.bytes >= CHUNK_BYTES
    }
}

/// Which part of the record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    pub(super) partition: Partition,
    /// What comes after this.
    pub(super) after: Sequence,
    /// The end: a message there or past it is the last.
    pub(super) end: Sequence,
}

/// Sends a stretch's messages in chunks, until its end, or until nobody listens; an archive that cannot be read ends it with
/// its error.
pub(super) async fn read_chunks(
    archive: Archive,
    stretch: Stretch,
    chunks: mpsc::Sender<Result<Chunk, ArchiveError>>,
) {
    let mut messages = pin!(archive.follow(stretch.partition, stretch.after));
    let mut chunk = Chunk::default();
    let mut is_lost = false;
    loop {
        let message = match timeout(QUIET_MAX, messages.next()).await {
            Ok(Some(Ok(message))) => message,
            Ok(Some(Err(FollowError::Archive(error)))) => {
                // Nobody listens any more when the load was stopped.
                let _ = chunks.send(Err(error)).await;
                return;
            }
            Ok(Some(Err(FollowError::Record(unavailable)))) => {
                tracing::warn!(partition = %stretch.partition, %unavailable, "the partition is lost, reading goes on when it is back");
                is_lost = true;
                continue;
            }
            Err(_) if is_lost => continue,
            Ok(None) | Err(_) => break,
        };
        is_lost = false;
        chunk.add(&message);
        let is_end = chunk.last >= stretch.end || message.pending == 0;
        if is_end {
            break;
        }
        if chunk.is_full() && chunks.send(Ok(std::mem::take(&mut chunk))).await.is_err() {
            return;
        }
    }
    if chunk.last > Sequence(0) {
        // Nobody listens any more when the load was stopped.
        let _ = chunks.send(Ok(chunk)).await;
    }
}
