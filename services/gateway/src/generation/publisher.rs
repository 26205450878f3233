//! Publishes the parts of a run in natural batches: one request at a time; what comes meanwhile goes with the next.
//!
//! What waits is bounded by [`PARTS_WAITING_MAX`] and [`BYTES_WAITING_MAX`]: beyond that, whoever makes parts is held back.
//! The same batch is sent until the writer has answered for it: its previous sequence makes a repeat harmless.

use std::sync::Arc;
use std::time::{Duration, Instant};

use backon::Retryable as _;
use domain::bounds::PARTS_PER_BATCH_MAX;
use domain::{RunPart, RunPartKind, Sequence};
use runs::Coalescer;
use runtime::backoff::exponential;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;
use tonic::Status;
use wire::proto::run::v1 as proto;

use super::metrics;
use super::pieces::size_bytes;
use super::run_key::RunKey;
use crate::writer::WriterClient;
use crate::writer::refusal::Refusal;

/// Most parts that wait to be published.
pub const PARTS_WAITING_MAX: usize = 1_024;
/// Most bytes of parts that wait to be published; one larger part waits alone.
pub const BYTES_WAITING_MAX: u32 = 1_024 * 1_024;
/// No part joins a batch of this many bytes: with it the batch stays below 1 MiB but for the events of steps.
const BATCH_BYTES: usize = 512 * 1_024;
/// The first wait before a batch is sent again.
const RETRY_WAIT_BASE: Duration = Duration::from_millis(25);
/// The longest wait before a batch is sent again.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(1);

/// Where the maker of a run puts its parts.
#[derive(Debug)]
pub(super) struct Outlet {
    parts: mpsc::Sender<Waiting>,
    room: Arc<Semaphore>,
}

/// A part that waits, and the room that it takes until it is published.
#[derive(Debug)]
struct Waiting {
    kind: RunPartKind,
    _room: OwnedSemaphorePermit,
}

/// Nobody publishes parts of the run any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closed;

/// How publishing ended.
#[derive(Debug)]
pub(super) enum Published {
    /// The run's end stands among its parts.
    Ended,
    /// The maker went without an end.
    LeftOpen,
    /// The run was asked to stop: only its end is taken.
    Stopping,
    /// Somebody else publishes parts of the run.
    Superseded,
    /// The run is over.
    NotActive,
    /// The writer refuses.
    Refused(Status),
}

impl Outlet {
    /// Puts a part in the queue; waits while there is no room.
    ///
    /// # Errors
    /// [`Closed`].
    pub(super) async fn send(&self, kind: RunPartKind) -> Result<(), Closed> {
        let bytes = u32::try_from(size_bytes(&kind)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room);
        let room = room.acquire_many_owned(bytes.min(BYTES_WAITING_MAX)).await;
        let waiting = Waiting {
            kind,
            _room: room.map_err(|_| Closed)?,
        };
        self.parts.send(waiting).await.map_err(|_| Closed)
    }
}

/// Publishes the parts of one run.
#[derive(Debug)]
pub(super) struct Publisher {
    writer: WriterClient,
    run: RunKey,
    keep_alive: Duration,
    parts: mpsc::Receiver<Waiting>,
    /// A part that had no place in the batch before.
    held: Option<Waiting>,
    previous: Sequence,
    next_number: u64,
    began: Instant,
}

impl Publisher {
    /// A publisher for a run without parts, and the outlet that feeds it; after `keep_alive` of silence it says that the
    /// run goes on.
    #[must_use]
    pub(super) fn new(writer: WriterClient, run: RunKey, keep_alive: Duration) -> (Outlet, Self) {
        let (sender, parts) = mpsc::channel(PARTS_WAITING_MAX);
        let room = usize::try_from(BYTES_WAITING_MAX).unwrap_or(usize::MAX);
        let outlet = Outlet {
            parts: sender,
            room: Arc::new(Semaphore::new(room)),
        };
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
        (outlet, publisher)
    }

    /// Publishes until the run's end is published, or no more is taken.
    pub(super) async fn run(mut self) -> Published {
        loop {
            let Some(batch) = self.next_batch().await else {
                return Published::LeftOpen;
            };
            let ends = matches!(batch.last(), Some(RunPartKind::RunEnded(_)));
            match self.publish(batch).await {
                Ok(()) if ends => return Published::Ended,
                Ok(()) => {}
                Err(ended) => return ended,
            }
        }
    }

    /// All that waits, up to the bounds of a batch; a sign of life after a silence; `None` after the last.
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

    async fn publish(&mut self, batch: Vec<RunPartKind>) -> Result<(), Published> {
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
    let merged = batch.into_iter().flat_map(|kind| coalescer.push(kind));
    let mut merged: Vec<RunPartKind> = merged.collect();
    merged.extend(coalescer.flush());
    merged
}

/// A request that publishes parts behind a sequence.
pub(super) fn request(
    run: &RunKey,
    previous: Sequence,
    parts: Vec<proto::Part>,
) -> proto::AppendPartsRequest {
    proto::AppendPartsRequest {
        agent_id: run.agent.as_str().to_owned(),
        conversation_id: run.key.conversation.as_str().to_owned(),
        run_id: run.run.to_string(),
        previous_sequence: previous.0,
        parts,
    }
}

/// Sends the same batch until the writer has answered for it.
async fn send(
    writer: &WriterClient,
    request: proto::AppendPartsRequest,
) -> Result<Sequence, Published> {
    let append = || async {
        let answer = writer.runs().append_parts(request.clone()).await;
        answer.map_err(Refusal::from)
    };
    let answer = append
        .retry(exponential(RETRY_WAIT_BASE, RETRY_WAIT_MAX))
        .when(Refusal::is_passing)
        .notify(|_, _| metrics::publish_retried())
        .await;
    answer
        .map(|answer| Sequence(answer.into_inner().sequence))
        .map_err(|refusal| match refusal {
            Refusal::Stopping => Published::Stopping,
            Refusal::Superseded => Published::Superseded,
            Refusal::NotActive | Refusal::RunActive(_) => Published::NotActive,
            Refusal::Passing(status) | Refusal::Lasting(status) => Published::Refused(status),
        })
}

#[cfg(test)]
mod tests;
