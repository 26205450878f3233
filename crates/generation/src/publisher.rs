//! Publishes the parts of a run in batches: one request at a time; parts that arrive during a request form the next batch.
//!
//! The queue is bounded by [`PARTS_WAITING_MAX`] and [`BYTES_WAITING_MAX`]; beyond that, senders wait. A batch is sent again
//! until the writer answers. The previous sequence in the request makes retries safe.

use std::sync::Arc;
use std::time::{Duration, Instant};

use backoff::exponential;
use backon::Retryable as _;
use domain::bounds::PARTS_PER_BATCH_MAX;
use domain::{RunPart, RunPartKind, Sequence};
use runs::Coalescer;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;
use wire::proto::run::v1 as proto;
use wire::status::Problem;

use super::run_parts::size_bytes;
use super::{RunKey, metrics};
use record_access::writer::{WriterClient, WriterError};

/// Maximum number of queued parts.
pub const PARTS_WAITING_MAX: usize = 1_024;
/// Maximum size of the queued parts, in bytes. A larger part is queued alone.
pub const BYTES_WAITING_MAX: u32 = 1_024 * 1_024;
/// A batch is full at this many bytes: it stays below 1 MiB, except for the events of steps.
const BATCH_BYTES: usize = 512 * 1_024;
/// First wait between two attempts to send a batch.
const RETRY_WAIT_BASE: Duration = Duration::from_millis(25);
/// Maximum wait between two attempts to send a batch.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(1);

/// Sends the parts of a run to its publisher.
#[derive(Debug)]
pub(super) struct PartSender {
    parts: mpsc::Sender<QueuedPart>,
    room: Arc<Semaphore>,
}

/// A part in the queue, with its share of [`BYTES_WAITING_MAX`].
#[derive(Debug)]
struct QueuedPart {
    kind: RunPartKind,
    _room: OwnedSemaphorePermit,
}

/// The publisher has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closed;

/// How publishing ended.
#[derive(Debug)]
pub(super) enum PublishEnd {
    Ended,
    /// The sender was dropped before the run's end.
    SenderDropped,
    /// A stop is requested: the writer accepts only the run's end.
    Stopping,
    /// Another gateway publishes parts of the run.
    Superseded,
    NotActive,
    /// The writer rejected the parts.
    Refused(Problem),
}

impl PartSender {
    /// Queues a part; waits while the queue is full.
    ///
    /// # Errors
    /// [`Closed`].
    pub(super) async fn send(&self, kind: RunPartKind) -> Result<(), Closed> {
        let bytes = u32::try_from(size_bytes(&kind)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(bytes.min(BYTES_WAITING_MAX)).await;
        let part = QueuedPart { kind, _room: room.map_err(|_| Closed)? };
        self.parts.send(part).await.map_err(|_| Closed)
    }
}

/// Publishes the parts of one run.
#[derive(Debug)]
pub(super) struct Publisher {
    writer: WriterClient,
    run: RunKey,
    keep_alive: Duration,
    parts: mpsc::Receiver<QueuedPart>,
    /// A part that did not fit into the previous batch.
    held: Option<QueuedPart>,
    previous: Sequence,
    next_number: u64,
    began: Instant,
}

impl Publisher {
    /// A publisher for a run without parts, and its sender. After `keep_alive` without a part it publishes a keep-alive part.
    #[must_use]
    pub(super) fn new(writer: WriterClient, run: RunKey, keep_alive: Duration) -> (PartSender, Self) {
        let (sender, parts) = mpsc::channel(PARTS_WAITING_MAX);
        let room = usize::try_from(BYTES_WAITING_MAX).unwrap_or(usize::MAX);
        let part_sender = PartSender { parts: sender, room: Arc::new(Semaphore::new(room)) };
        let publisher = Self {
            writer,
            run,
            keep_alive,
            parts,
            held: None,
            previous: Sequence(0),
            next_number: 1,
            began: Instant::now(),
        };
        (part_sender, publisher)
    }

    /// Publishes until the run's end is published or the writer accepts no more parts.
    pub(super) async fn run(mut self) -> PublishEnd {
        loop {
            let Some(batch) = self.next_batch().await else {
                return PublishEnd::SenderDropped;
            };
            let ends = matches!(batch.last(), Some(RunPartKind::RunEnded(_)));
            match self.publish(batch).await {
                Ok(()) if ends => return PublishEnd::Ended,
                Ok(()) => {}
                Err(ended) => return ended,
            }
        }
    }

    /// The queued parts up to the size of a batch; a keep-alive part if none arrives in time; `None` after the last part.
    async fn next_batch(&mut self) -> Option<Vec<RunPartKind>> {
        let first = match self.held.take() {
            Some(held) => held,
            None => match timeout(self.keep_alive, self.parts.recv()).await {
                Ok(first) => first?,
                Err(_) => return Some(vec![RunPartKind::KeptAlive]),
            },
        };
        let mut bytes = size_bytes(&first.kind);
        let mut batch = vec![first.kind];
        while batch.len() < PARTS_PER_BATCH_MAX
            && let Ok(next) = self.parts.try_recv()
        {
            bytes += size_bytes(&next.kind);
            if bytes > BATCH_BYTES {
                self.held = Some(next);
                break;
            }
            batch.push(next.kind);
        }
        Some(coalesced(batch))
    }

    async fn publish(&mut self, batch: Vec<RunPartKind>) -> Result<(), PublishEnd> {
        let parts: Vec<proto::Part> = (self.next_number..)
            .zip(batch)
            .map(|(number, kind)| wire::run::part_to_proto(&RunPart { number, kind }))
            .collect();
        let count = u64::try_from(parts.len()).unwrap_or(u64::MAX);
        let request = request(&self.run, self.previous, parts);
        let sent = Instant::now();
        self.previous = send(&self.writer, request).await?;
        metrics::parts_published(count, sent.elapsed());
        if self.next_number == 1 {
            metrics::first_part_published(self.began.elapsed());
        }
        self.next_number += count;
        Ok(())
    }
}

fn coalesced(batch: Vec<RunPartKind>) -> Vec<RunPartKind> {
    let mut coalescer = Coalescer::default();
    let mut merged: Vec<RunPartKind> = batch.into_iter().flat_map(|kind| coalescer.push(kind)).collect();
    merged.extend(coalescer.flush());
    merged
}

/// The request that publishes parts after a sequence.
pub(super) fn request(run: &RunKey, previous: Sequence, parts: Vec<proto::Part>) -> proto::AppendPartsRequest {
    proto::AppendPartsRequest {
        agent_id: run.agent.as_str().to_owned(),
        conversation_id: run.key.conversation.as_str().to_owned(),
        run_id: run.run.to_string(),
        previous_sequence: previous.0,
        parts,
    }
}

/// Sends a batch until the writer answers.
async fn send(writer: &WriterClient, request: proto::AppendPartsRequest) -> Result<Sequence, PublishEnd> {
    let append = || async { writer.runs().append_parts(request.clone()).await.map_err(WriterError::from) };
    let answer = append
        .retry(exponential(RETRY_WAIT_BASE, RETRY_WAIT_MAX))
        .when(WriterError::is_retryable)
        .notify(|_, _| metrics::publish_retried())
        .await;
    answer.map(|answer| Sequence(answer.into_inner().sequence)).map_err(|refusal| match refusal {
        WriterError::Stopping => PublishEnd::Stopping,
        WriterError::Superseded => PublishEnd::Superseded,
        WriterError::NotActive | WriterError::RunActive(_) => PublishEnd::NotActive,
        WriterError::Retryable(problem) | WriterError::Permanent(problem) => PublishEnd::Refused(problem),
    })
}

#[cfg(test)]
mod tests;
