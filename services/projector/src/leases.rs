//! The leases of this projector.
//!
//! Every projector sends heartbeats, takes free partitions up to its fair share, and releases those above it. Another projector
//! may take a lease that was not renewed in time; its epoch rejects later writes of the previous holder.

use std::time::{Duration, Instant};

use domain::Partition;
use event_log::Record;
use read_model::projections::conversations::lease::{self, Checkpoint, Holder, Lease};
use read_model::{ReadModel, ReadModelError};
use runtime::failure_log::FailureLog;
use runtime::shutdown::Shutdown;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::ProjectorConfig;
use crate::progress::Progress;

/// Number of renewals within the TTL of a lease.
const RENEWALS_PER_TTL: u32 = 4;

#[derive(Debug, Clone, Copy)]
pub(crate) enum LeaseChange {
    /// It was taken: project the partition from this checkpoint, regardless of previous reads.
    Taken(Checkpoint),
    Lost(Lease),
}

#[derive(Debug)]
pub(crate) struct Leases {
    model: ReadModel,
    /// Knows the number of partitions, which can grow.
    record: Record,
    holder: Holder,
    ttl_ms: u64,
    held: Vec<Lease>,
    progress: Progress,
    workers: Vec<mpsc::Sender<LeaseChange>>,
}

impl LeaseChange {
    fn partition(&self) -> Partition {
        match self {
            Self::Taken(checkpoint) => checkpoint.lease.partition,
            Self::Lost(lease) => lease.partition,
        }
    }
}

/// Maximum number of waiting changes per worker. More changes block the leases, which is safe.
const CHANGES_MAX: usize = 64;

impl Leases {
    /// Starts without leases. Returns the receiver of lease changes for each worker.
    pub(crate) fn new(
        model: ReadModel,
        record: &Record,
        config: &ProjectorConfig,
        progress: Progress,
    ) -> (Self, Vec<mpsc::Receiver<LeaseChange>>) {
        let channels = (0..config.lanes.min(record.partitions())).map(|_| mpsc::channel(CHANGES_MAX));
        let (workers, receivers) = channels.unzip();
        let leases = Self {
            model,
            record: record.clone(),
            holder: Holder(uuid::Uuid::now_v7().to_string()),
            ttl_ms: config.lease_ttl_ms,
            held: Vec::new(),
            progress,
            workers,
        };
        (leases, receivers)
    }

    /// Holds a fair share of the partitions until `shutdown`.
    pub(crate) async fn hold(mut self, shutdown: Shutdown) {
        let ttl = Duration::from_millis(self.ttl_ms);
        let mut ticks = interval(ttl / RENEWALS_PER_TTL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let failures = FailureLog::default();
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = shutdown.begun() => return self.leave().await,
            }
            if let Err(error) = self.rebalance().await
                && let Some(unlogged) = failures.failed(Instant::now())
            {
                tracing::warn!(%error, unlogged, "the leases cannot be renewed; retrying");
            }
        }
    }

    async fn rebalance(&mut self) -> Result<(), ReadModelError> {
        lease::ensure(&self.model, self.record.partitions()).await?;
        self.renew().await?;
        let group = lease::heartbeat(&self.model, &self.holder, self.ttl_ms).await?;
        let share = usize::from(self.record.partitions()).div_ceil(group.projectors.max(1));
        let missing = share.saturating_sub(self.held.len());
        for partition in group.free.into_iter().take(missing) {
            let taken = lease::take(&self.model, partition, &self.holder, self.ttl_ms).await?;
            if let Some(checkpoint) = taken {
                tracing::info!(%partition, sequence = %checkpoint.sequence, "partition taken");
                self.held.push(checkpoint.lease);
                self.send(LeaseChange::Taken(checkpoint)).await;
            }
        }
        let surplus = self.held.split_off(share.min(self.held.len()));
        self.release(&surplus).await
    }

    async fn renew(&mut self) -> Result<(), ReadModelError> {
        if self.held.is_empty() {
            return Ok(());
        }
        let written: Vec<_> = self.held.iter().map(|lease| self.progress.written(lease.partition)).collect();
        let renewed = lease::renew(&self.model, &self.held, self.ttl_ms).await?;
        for (lease, written) in std::mem::take(&mut self.held).into_iter().zip(written) {
            let Some(now) = renewed.iter().find(|checkpoint| checkpoint.lease == lease) else {
                tracing::warn!(partition = %lease.partition, "another projector took the partition");
                self.send(LeaseChange::Lost(lease)).await;
                continue;
            };
            self.held.push(lease);
            // A crash of the database lost the last transactions, rows and checkpoints together.
            if written.is_some_and(|written| now.sequence < written) {
                tracing::warn!(partition = %lease.partition, sequence = %now.sequence, "the database lost its last transactions; reading the partition again from the checkpoint");
                self.send(LeaseChange::Taken(*now)).await;
            }
        }
        Ok(())
    }

    async fn release(&self, leases: &[Lease]) -> Result<(), ReadModelError> {
        for lease in leases {
            tracing::info!(partition = %lease.partition, "partition released for another projector");
            self.send(LeaseChange::Lost(*lease)).await;
        }
        lease::release(&self.model, leases).await
    }

    async fn leave(&self) {
        if let Err(error) = lease::leave(&self.model, &self.holder).await {
            tracing::warn!(%error, "the projector could not be unregistered; the others count it until its heartbeat expires");
        }
    }

    async fn send(&self, change: LeaseChange) {
        let worker = usize::from(change.partition().0) % self.workers.len().max(1);
        if let Some(worker) = self.workers.get(worker) {
            // The receiver is closed only during a shutdown.
            let _ = worker.send(change).await;
        }
    }
}
