//! Who projects which partition: this projector's share of the leases.
//!
//! Every projector says that it is alive, takes what is free up to its fair share, and gives back what is over it. A lease
//! that was not renewed in time may be another's by now; writes under it are refused by its epoch.

use std::time::Duration;

use domain::Partition;
use read_model::projections::conversations::lease::{self, Checkpoint, Holder, Lease};
use read_model::{ReadModel, ReadModelError};
use runtime::shutdown::Shutdown;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::ProjectorConfig;
use crate::progress::Progress;

/// How many times a lease is renewed within its time to live.
const RENEWALS_PER_TTL: u32 = 4;

/// What happened to a lease.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LeaseChange {
    /// It is ours; the partition goes on from this checkpoint, wherever it was before.
    Taken(Checkpoint),
    /// It is not ours any more.
    Lost(Lease),
}

/// This projector among the others.
#[derive(Debug)]
pub(crate) struct Leases {
    model: ReadModel,
    partitions: u16,
    holder: Holder,
    ttl_ms: u64,
    held: Vec<Lease>,
    progress: Progress,
    lanes: Vec<mpsc::Sender<LeaseChange>>,
}

impl LeaseChange {
    fn partition(&self) -> Partition {
        match self {
            Self::Taken(checkpoint) => checkpoint.lease.partition,
            Self::Lost(lease) => lease.partition,
        }
    }
}

/// Most changes that wait to be heard in a lane; more make the leases wait, which is safe.
const CHANGES_MAX: usize = 64;

impl Leases {
    /// A projector without leases, and where each lane hears of the changes of its partitions.
    pub(crate) fn new(
        model: ReadModel,
        partitions: u16,
        config: &ProjectorConfig,
        progress: Progress,
    ) -> (Self, Vec<mpsc::Receiver<LeaseChange>>) {
        let channels = (0..config.lanes.min(partitions)).map(|_| mpsc::channel(CHANGES_MAX));
        let (lanes, receivers) = channels.unzip();
        let leases = Self {
            model,
            partitions,
            holder: Holder(uuid::Uuid::now_v7().to_string()),
            ttl_ms: config.lease_ttl_ms,
            held: Vec::new(),
            progress,
            lanes,
        };
        (leases, receivers)
    }

    /// Holds a fair share until `shutdown`.
    pub(crate) async fn hold(mut self, shutdown: Shutdown) {
        let ttl = Duration::from_millis(self.ttl_ms);
        let mut ticks = interval(ttl / RENEWALS_PER_TTL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = shutdown.begun() => return self.depart().await,
            }
            if let Err(error) = self.keep().await {
                tracing::warn!(%error, "leases cannot be kept, trying again");
            }
        }
    }

    async fn keep(&mut self) -> Result<(), ReadModelError> {
        lease::ensure(&self.model, self.partitions).await?;
        self.renew().await?;
        let roster = lease::announce(&self.model, &self.holder, self.ttl_ms).await?;
        let share = usize::from(self.partitions).div_ceil(roster.projectors.max(1));
        for partition in roster
            .free
            .into_iter()
            .take(share.saturating_sub(self.held.len()))
        {
            let taken = lease::take(&self.model, partition, &self.holder, self.ttl_ms).await?;
            if let Some(checkpoint) = taken {
                tracing::info!(%partition, sequence = %checkpoint.sequence, "partition taken");
                self.held.push(checkpoint.lease);
                self.tell(LeaseChange::Taken(checkpoint)).await;
            }
        }
        let over = self.held.split_off(share.min(self.held.len()));
        self.give_back(&over).await
    }

    async fn renew(&mut self) -> Result<(), ReadModelError> {
        if self.held.is_empty() {
            return Ok(());
        }
        let written: Vec<_> = self
            .held
            .iter()
            .map(|lease| self.progress.written(lease.partition))
            .collect();
        let kept = lease::renew(&self.model, &self.held, self.ttl_ms).await?;
        for (lease, written) in std::mem::take(&mut self.held).into_iter().zip(written) {
            let Some(now) = kept.iter().find(|checkpoint| checkpoint.lease == lease) else {
                tracing::warn!(partition = %lease.partition, "partition was taken by another projector");
                self.tell(LeaseChange::Lost(lease)).await;
                continue;
            };
            self.held.push(lease);
            // The database crashed, and took back what was written last, rows and checkpoint together.
            if written.is_some_and(|written| now.sequence < written) {
                tracing::warn!(partition = %lease.partition, sequence = %now.sequence, "the rows went back: reading again");
                self.tell(LeaseChange::Taken(*now)).await;
            }
        }
        Ok(())
    }

    async fn give_back(&self, leases: &[Lease]) -> Result<(), ReadModelError> {
        for lease in leases {
            tracing::info!(partition = %lease.partition, "partition given back: others share the work");
            self.tell(LeaseChange::Lost(*lease)).await;
        }
        lease::release(&self.model, leases).await
    }

    async fn depart(&self) {
        if let Err(error) = lease::depart(&self.model, &self.holder).await {
            tracing::warn!(%error, "the others will think this projector alive for a while");
        }
    }

    async fn tell(&self, change: LeaseChange) {
        let lane = usize::from(change.partition().0) % self.lanes.len().max(1);
        if let Some(lane) = self.lanes.get(lane) {
            // Nobody listens once the projection has ended, which only a shutdown brings about.
            let _ = lane.send(change).await;
        }
    }
}
