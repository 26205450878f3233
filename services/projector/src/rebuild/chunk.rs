//! Reads the record of one partition in chunks, large enough for `COPY` and small enough for memory.

use std::pin::pin;
use std::time::Duration;

use archive::{Archive, ArchiveError, FollowError};
use domain::{Partition, Sequence};
use event_log::FollowedMessage;
use futures::StreamExt as _;
use read_model::projections::conversations::Item;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::reader::{cost_of, item_of, rows_of};

/// Number of event rows that make a chunk full; one commit may exceed it.
pub const CHUNK_ROWS: usize = 20_000;
/// Bytes of decoded commits that make a chunk full.
pub const CHUNK_BYTES: usize = 24 * 1_024 * 1_024;
/// If no message arrives for this time, the remaining messages were erased. If there are any nevertheless, they are projected
/// later.
const IDLE_MAX: Duration = Duration::from_secs(2);

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
        self.rows += rows_of(item.as_ref());
        self.items.extend(item);
    }

    /// Number of event rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    fn is_full(&self) -> bool {
        self.rows >= CHUNK_ROWS || self.bytes >= CHUNK_BYTES
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ReadRange {
    pub(super) partition: Partition,
    /// The part starts after this sequence.
    pub(super) after: Sequence,
    /// The part ends at this sequence, or at the first message after it.
    pub(super) end: Sequence,
}

/// Sends the messages of a range in chunks, until its end or until the receiver is closed. Sends an error of the archive and
/// stops.
pub(super) async fn read_chunks(archive: Archive, range: ReadRange, chunks: mpsc::Sender<Result<Chunk, ArchiveError>>) {
    let mut messages = pin!(archive.follow(range.partition, range.after));
    let mut chunk = Chunk::default();
    let mut is_unavailable = false;
    loop {
        let message = match timeout(IDLE_MAX, messages.next()).await {
            Ok(Some(Ok(message))) => message,
            Ok(Some(Err(FollowError::Archive(error)))) => {
                // The receiver is closed if the load was stopped.
                let _ = chunks.send(Err(error)).await;
                return;
            }
            Ok(Some(Err(FollowError::Record(unavailable)))) => {
                tracing::warn!(partition = %range.partition, %unavailable, "the partition is unavailable; reading continues when it is back");
                is_unavailable = true;
                continue;
            }
            Err(_) if is_unavailable => continue,
            Ok(None) | Err(_) => break,
        };
        is_unavailable = false;
        chunk.add(&message);
        let is_end = chunk.last >= range.end || message.pending == 0;
        if is_end {
            break;
        }
        if chunk.is_full() && chunks.send(Ok(std::mem::take(&mut chunk))).await.is_err() {
            return;
        }
    }
    if chunk.last > Sequence(0) {
        // The receiver is closed if the load was stopped.
        let _ = chunks.send(Ok(chunk)).await;
    }
}
