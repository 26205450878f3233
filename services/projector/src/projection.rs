//! The batch loop of a projector's worker: collects messages of the readers into batches, and writes rows and checkpoints of
//! all its held partitions in one transaction. Other workers continue while Postgres executes it.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use archive::Archive;
use backoff::Backoff;
use domain::{Partition, Sequence};
use read_model::ReadModel;
use read_model::projections::conversations::lease::{self, Checkpoint, Lease};
use read_model::projections::conversations::{Applied, ApplyError, Batch};
use runtime::clock::Clock;
use runtime::failure_log::FailureLog;
use runtime::shutdown::Shutdown;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::timeout_at;
use tracing::Instrument as _;

use crate::dependencies::ProjectionDependencies;
use crate::leases::LeaseChange;
use crate::pending::{BatchTelemetry, Pending, split, unwritten};
use crate::progress::{PartitionProgress, Progress};
use crate::projection_kind::ProjectionKind;
use crate::reader::{Read, ReadSender, ReaderId, Source, read};
use crate::{metrics, parked};

/// First and longest wait after a failed transaction.
const RETRY_WAITS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// How long an incomplete batch waits for more commits. It adds to the delay of the rows.
const BATCH_WAIT: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) struct Projection {
    archive: Archive,
    model: ReadModel,
    kind: ProjectionKind,
    progress: Progress,
    clock: Clock,
    sender: ReadSender,
    outages: FailureLog,
    reads: mpsc::Receiver<Read>,
    changes: mpsc::Receiver<LeaseChange>,
    batch_rows: usize,
    held: HashMap<Partition, Held>,
    readers: u64,
}

/// A partition whose lease this worker holds, as far as it knows.
#[derive(Debug)]
struct Held {
    lease: Lease,
    written: Sequence,
    reader: ReaderId,
    task: AbortHandle,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Projection {
    pub(crate) fn new(means: ProjectionDependencies, changes: mpsc::Receiver<LeaseChange>, progress: Progress) -> Self {
        let ProjectionDependencies { config, archive, model, kind, outages } = means;
        let workers = u32::from(config.lanes).max(1);
        let (sender, reads) = ReadSender::new((config.buffer_mib / workers).max(1));
        Self {
            archive,
            model,
            kind,
            progress,
            clock: Clock::System,
            sender,
            outages,
            reads,
            changes,
            batch_rows: kind.batch_rows(),
            held: HashMap::new(),
            readers: 0,
        }
    }

    /// Projects until `shutdown`, then releases the leases.
    pub(crate) async fn project(mut self, shutdown: Shutdown) {
        loop {
            tokio::select! {
                biased;
                () = shutdown.begun() => break,
                Some(change) = self.changes.recv() => self.change(change),
                Some(read) = self.reads.recv() => {
                    let pending = self.collect(read).await;
                    self.write(pending, &shutdown).await;
                }
            }
        }
        let leases: Vec<Lease> = self.held.drain().map(|(_, held)| held.lease).collect();
        for lease in &leases {
            self.progress.remove(lease.partition);
        }
        if let Err(error) = lease::release(&self.model, &leases).await {
            tracing::warn!(%error, "leases could not be released; others wait until they expire");
        }
    }

    fn change(&mut self, change: LeaseChange) {
        match change {
            LeaseChange::Taken(checkpoint) => {
                let partition = checkpoint.lease.partition;
                self.begin(checkpoint);
                if self.kind == ProjectionKind::Conversations {
                    let (record, model) = (self.archive.record().clone(), self.model.clone());
                    tokio::spawn(parked::retry_all(record, model, partition));
                }
            }
            LeaseChange::Lost(lease) => self.lose(lease),
        }
    }

    /// Reads a partition from its checkpoint, regardless of previous reads.
    fn begin(&mut self, from: Checkpoint) {
        self.readers += 1;
        let reader = ReaderId(self.readers);
        let source = Source { archive: self.archive.clone(), model: self.model.clone(), outages: self.outages.clone() };
        let task = tokio::spawn(read(source, from, reader, self.sender.clone()));
        let held = Held { lease: from.lease, written: from.sequence, reader, task: task.abort_handle() };
        let partition = from.lease.partition;
        self.set_progress(partition, from.sequence);
        self.held.insert(partition, held);
    }

    fn set_progress(&self, partition: Partition, written: Sequence) {
        let progress = PartitionProgress { written, waiting_since: None };
        self.progress.set(partition, progress);
    }

    fn lose(&mut self, lease: Lease) {
        let held = self.held.get(&lease.partition);
        if held.is_some_and(|held| held.lease == lease) {
            self.held.remove(&lease.partition);
            self.progress.remove(lease.partition);
        }
    }

    /// Collects messages after a first one until the batch is full or [`BATCH_WAIT`] is over.
    async fn collect(&mut self, first: Read) -> Pending {
        let mut pending = Pending::default();
        let until = tokio::time::Instant::now() + BATCH_WAIT;
        self.add(&mut pending, first);
        while pending.rows < self.batch_rows {
            match timeout_at(until, self.reads.recv()).await {
                Ok(Some(read)) => self.add(&mut pending, read),
                Ok(None) | Err(_) => break,
            }
        }
        pending
    }

    fn add(&self, pending: &mut Pending, read: Read) {
        let held = self.held.iter().find(|(_, held)| held.reader == read.reader);
        let Some((partition, _)) = held else { return };
        self.progress.set_waiting(*partition, read.stored_at);
        pending.add(*partition, read);
    }

    /// Writes the messages, with retries until it succeeds or `shutdown`. Skips partitions whose lease is lost.
    async fn write(&mut self, pending: Pending, shutdown: &Shutdown) {
        let (batches, telemetry) = self.batches(pending);
        let mut parts = VecDeque::from([batches]);
        let mut backoff = Backoff::new(RETRY_WAITS.0, RETRY_WAITS.1);
        let mut is_written = false;
        while let Some(mut batches) = parts.pop_front() {
            if batches.is_empty() {
                continue;
            }
            let began = Instant::now();
            let written = self.kind.apply(&self.model, &batches).instrument(telemetry.span());
            match written.await {
                Ok(applied) => {
                    self.applied(&batches, &applied, began.elapsed());
                    is_written = true;
                }
                Err(ApplyError::Fenced(current)) => {
                    metrics::retried(self.kind, "fenced");
                    self.remove_fenced(&mut batches, &current);
                    parts.push_front(batches);
                }
                Err(ApplyError::ReadModel(error)) => {
                    metrics::retried(self.kind, "unavailable");
                    tracing::warn!(%error, "a batch could not be written; retrying");
                    split(batches).for_each(|part| parts.push_front(part));
                    tokio::select! {
                        _ = backoff.wait() => {}
                        () = shutdown.begun() => return,
                    }
                }
            }
        }
        if is_written {
            telemetry.record_latency(self.kind, self.clock.now_nanos());
        }
    }

    /// One batch per partition, in the order of the partitions.
    fn batches(&self, pending: Pending) -> (Vec<Batch>, BatchTelemetry) {
        let mut telemetry = BatchTelemetry { stored_at: Vec::new(), traces: Vec::new(), rows: pending.rows };
        let mut batches = Vec::with_capacity(pending.reads.len());
        for (partition, reads) in pending.reads {
            let Some(held) = self.held.get(&partition) else {
                continue;
            };
            let reads = unwritten(reads, held.written);
            let Some(last) = reads.last() else {
                continue;
            };
            let last = last.sequence;
            let mut items = Vec::with_capacity(reads.len());
            for read in reads {
                telemetry.stored_at.push(read.stored_at);
                if read.trace.traceparent.is_some() {
                    telemetry.traces.push(read.trace);
                }
                items.extend(read.item);
            }
            let record = self.archive.record().id();
            batches.push(Batch { record, lease: held.lease, previous: held.written, last, items });
        }
        (batches, telemetry)
    }

    fn applied(&mut self, batches: &[Batch], applied: &Applied, took: Duration) {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let commits = batches.iter().map(|batch| batch.items.len()).sum();
        metrics::batch(self.kind, took, count(applied.events), count(commits));
        for parked in &applied.parked {
            tracing::error!(
                tenant.id = parked.key.tenant.as_str(),
                conversation.id = parked.key.conversation.as_str(),
                sequence = %parked.position.sequence,
                reason = %parked.reason,
                "conversation parked: its later commits wait; retry it with hansard parked retry"
            );
        }
        for batch in batches {
            self.advance(batch.lease, batch.last);
        }
    }

    fn advance(&mut self, lease: Lease, written: Sequence) {
        if let Some(held) = self.held.get_mut(&lease.partition) {
            held.written = written;
            self.set_progress(lease.partition, written);
        }
    }

    /// Removes the fenced batches. A batch with the current checkpoint is written, and only its answer was lost. A partition
    /// with another epoch is lost. A partition with another checkpoint is read again from there.
    fn remove_fenced(&mut self, batches: &mut Vec<Batch>, current: &[Checkpoint]) {
        for checkpoint in current {
            let partition = checkpoint.lease.partition;
            let mut leases = batches.iter().map(|batch| batch.lease);
            let Some(index) = leases.position(|lease| lease.partition == partition) else {
                continue;
            };
            let batch = batches.remove(index);
            if checkpoint.lease != batch.lease {
                self.lose(batch.lease);
            } else if checkpoint.sequence == batch.last {
                self.advance(batch.lease, batch.last);
            } else {
                self.begin(*checkpoint);
            }
        }
    }
}
