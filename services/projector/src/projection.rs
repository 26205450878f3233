//! The heart of the projector: gathers what the readers read into batches, and writes rows and checkpoints in one
//! transaction over the held partitions of its lane. Another lane works on while Postgres works for this one.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use archive::Archive;
use domain::{Partition, Sequence};
use read_model::ReadModel;
use read_model::projections::conversations::lease::{self, Checkpoint, Lease};
use read_model::projections::conversations::{Applied, ApplyError, Batch, apply};
use runtime::backoff::Backoff;
use runtime::clock::Clock;
use runtime::shutdown::Shutdown;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::timeout_at;
use tracing::Instrument as _;

use crate::gathered::{Gathered, Note, halved};
use crate::leases::LeaseChange;
use crate::progress::{Place, Progress};
use crate::reader::{Outlet, Read, ReaderId, read};
use crate::{ProjectorConfig, metrics, parked};

/// The waits after a transaction that was lost: first and longest.
const RETRY_WAITS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// What a lane of the projection works with.
#[derive(Debug)]
pub(crate) struct Projection {
    archive: Archive,
    model: ReadModel,
    progress: Progress,
    clock: Clock,
    outlet: Outlet,
    reads: mpsc::Receiver<Read>,
    changes: mpsc::Receiver<LeaseChange>,
    batch_rows: usize,
    batch_wait: Duration,
    held: HashMap<Partition, Held>,
    readers: u64,
}

/// A partition that is ours, as far as we know.
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
    pub(crate) fn new(
        config: &ProjectorConfig,
        archive: Archive,
        model: ReadModel,
        changes: mpsc::Receiver<LeaseChange>,
        progress: Progress,
    ) -> Self {
        let lanes = u32::from(config.lanes).max(1);
        let (outlet, reads) = Outlet::new((config.buffer_mib / lanes).max(1));
        Self {
            archive,
            model,
            progress,
            clock: Clock::System,
            outlet,
            reads,
            changes,
            batch_rows: config.batch_rows,
            batch_wait: config.batch_wait(),
            held: HashMap::new(),
            readers: 0,
        }
    }

    /// Projects until `shutdown`, then gives the leases back.
    pub(crate) async fn project(mut self, shutdown: Shutdown) {
        loop {
            tokio::select! {
                biased;
                () = shutdown.begun() => break,
                Some(change) = self.changes.recv() => self.change(change),
                Some(read) = self.reads.recv() => {
                    let gathered = self.gather(read).await;
                    self.write(gathered, &shutdown).await;
                }
            }
        }
        let leases: Vec<Lease> = self.held.values().map(|held| held.lease).collect();
        self.held.clear();
        if let Err(error) = lease::release(&self.model, &leases).await {
            tracing::warn!(%error, "leases could not be given back: others wait until they run out");
        }
    }

    fn change(&mut self, change: LeaseChange) {
        match change {
            LeaseChange::Taken(checkpoint) => {
                let partition = checkpoint.lease.partition;
                self.begin(checkpoint);
                tokio::spawn(parked::retry_all(
                    self.archive.record().clone(),
                    self.model.clone(),
                    partition,
                ));
            }
            LeaseChange::Lost(lease) => self.lose(lease),
        }
    }

    /// Reads a partition on from its checkpoint, whatever was read of it before.
    fn begin(&mut self, from: Checkpoint) {
        self.readers += 1;
        let reader = ReaderId(self.readers);
        let (archive, outlet) = (self.archive.clone(), self.outlet.clone());
        let task = tokio::spawn(read(archive, from, reader, outlet));
        let held = Held {
            lease: from.lease,
            written: from.sequence,
            reader,
            task: task.abort_handle(),
        };
        let partition = from.lease.partition;
        self.progress.set(
            partition,
            Place {
                written: from.sequence,
                waiting_since: None,
            },
        );
        self.held.insert(partition, held);
    }

    fn lose(&mut self, lease: Lease) {
        if self
            .held
            .get(&lease.partition)
            .is_some_and(|held| held.lease == lease)
        {
            self.held.remove(&lease.partition);
            self.progress.remove(lease.partition);
        }
    }

    /// Takes what is there after a first message, and waits a little for more unless that makes the batch full.
    async fn gather(&mut self, first: Read) -> Gathered {
        let mut gathered = Gathered::default();
        let until = tokio::time::Instant::now() + self.batch_wait;
        self.take(&mut gathered, first);
        while gathered.rows < self.batch_rows {
            match timeout_at(until, self.reads.recv()).await {
                Ok(Some(read)) => self.take(&mut gathered, read),
                Ok(None) | Err(_) => break,
            }
        }
        gathered
    }

    fn take(&self, gathered: &mut Gathered, read: Read) {
        let of = self
            .held
            .iter()
            .find(|(_, held)| held.reader == read.reader);
        let Some((partition, _)) = of else { return };
        self.progress.waits(*partition, read.stored_at);
        gathered.add(*partition, read);
    }

    /// Writes what was gathered, however often it takes; gives up only what is not ours any more.
    async fn write(&mut self, gathered: Gathered, shutdown: &Shutdown) {
        let (batches, note) = self.batches(gathered);
        let mut parts = VecDeque::from([batches]);
        let mut backoff = Backoff::new(RETRY_WAITS.0, RETRY_WAITS.1);
        let mut is_written = false;
        while let Some(mut batches) = parts.pop_front() {
            if batches.is_empty() {
                continue;
            }
            let began = Instant::now();
            let written = apply(&self.model, &batches).instrument(note.span());
            match written.await {
                Ok(applied) => {
                    self.applied(&batches, &applied, began.elapsed());
                    is_written = true;
                }
                Err(ApplyError::Fenced(present)) => {
                    metrics::retried("fenced");
                    self.settle_fenced(&mut batches, &present);
                    parts.push_front(batches);
                }
                Err(ApplyError::ReadModel(error)) => {
                    metrics::retried("unavailable");
                    tracing::warn!(%error, "a batch could not be written, trying again");
                    halved(batches).for_each(|part| parts.push_front(part));
                    tokio::select! {
                        _ = backoff.wait() => {}
                        () = shutdown.begun() => return,
                    }
                }
            }
        }
        if is_written {
            note.tell(self.clock.now_nanos());
        }
    }

    /// One batch a partition, in the order of the partitions.
    fn batches(&self, gathered: Gathered) -> (Vec<Batch>, Note) {
        let mut note = Note {
            stored_at: Vec::new(),
            traces: Vec::new(),
            rows: gathered.rows,
        };
        let mut batches = Vec::with_capacity(gathered.reads.len());
        for (partition, reads) in gathered.reads {
            let (Some(held), Some(last)) = (self.held.get(&partition), reads.last()) else {
                continue;
            };
            let last = last.sequence;
            let mut items = Vec::with_capacity(reads.len());
            for read in reads {
                note.stored_at.push(read.stored_at);
                if read.trace.traceparent.is_some() {
                    note.traces.push(read.trace);
                }
                items.extend(read.item);
            }
            batches.push(Batch {
                lease: held.lease,
                previous: held.written,
                last,
                items,
            });
        }
        (batches, note)
    }

    fn applied(&mut self, batches: &[Batch], applied: &Applied, took: Duration) {
        let commits = batches.iter().map(|batch| batch.items.len()).sum();
        metrics::batch(took, applied.events, commits);
        for parked in &applied.parked {
            tracing::error!(
                tenant.id = parked.key.tenant.as_str(),
                conversation.id = parked.key.conversation.as_str(),
                sequence = %parked.position.sequence,
                reason = %parked.reason,
                "conversation parked: its rows stay behind until it is retried"
            );
        }
        for batch in batches {
            self.moved(batch.lease, batch.last);
        }
    }

    fn moved(&mut self, lease: Lease, written: Sequence) {
        if let Some(held) = self.held.get_mut(&lease.partition) {
            held.written = written;
            self.progress.set(
                lease.partition,
                Place {
                    written,
                    waiting_since: None,
                },
            );
        }
    }

    /// Takes the fenced batches out: one that was written although its answer was lost is done, a partition of another
    /// epoch is another projector's, and one that stands elsewhere is read again from there.
    fn settle_fenced(&mut self, batches: &mut Vec<Batch>, present: &[Checkpoint]) {
        for checkpoint in present {
            let partition = checkpoint.lease.partition;
            let Some(place) = batches
                .iter()
                .position(|batch| batch.lease.partition == partition)
            else {
                continue;
            };
            let batch = batches.remove(place);
            if checkpoint.lease != batch.lease {
                self.lose(batch.lease);
            } else if checkpoint.sequence == batch.last {
                self.moved(batch.lease, batch.last);
            } else {
                self.begin(*checkpoint);
            }
        }
    }
}
