//! Leases: which projector writes which partition. Only the clock of Postgres is used.
//!
//! Another projector may take an expired lease and increases its epoch. The previous holder may not notice; the epoch, not
//! the time, rejects its writes.

use domain::{Partition, Sequence};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use crate::arguments::{arguments, bind, partition_of, signed, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;
pub use crate::projections::Holder;

/// TTL of a lease without renewal, in milliseconds.
pub const LEASE_TTL_MS: u64 = 5_000;

/// Increases by one with each new holder of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

/// The right to project a partition, until another projector takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The partition.
    pub partition: Partition,
    /// The epoch of the holder.
    pub epoch: Epoch,
}

/// The checkpoint of a partition and its epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// The partition and the epoch.
    pub lease: Lease,
    /// The last sequence that the rows contain; 0: none.
    pub sequence: Sequence,
}

/// The state of the group of projectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectorGroup {
    /// Number of live projectors, including the caller.
    pub projectors: usize,
    /// The partitions without a holder, in order.
    pub free: Vec<Partition>,
}

/// Creates the missing checkpoints of the record's partitions, at sequence 0.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn ensure(model: &ReadModel, partitions: u16) -> Result<(), ReadModelError> {
    let arguments = || arguments![i32::from(partitions)];
    let sql = include_str!("ensure_checkpoints.sql");
    model.fetch(sql, arguments).await.map(drop)
}

/// Registers `holder` as alive for `ttl_ms`. Returns the live projectors and the free partitions.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn heartbeat(model: &ReadModel, holder: &Holder, ttl_ms: u64) -> Result<ProjectorGroup, ReadModelError> {
    let arguments = || arguments![holder.0.as_str(), signed(ttl_ms)];
    let rows = model.fetch(include_str!("heartbeat.sql"), arguments).await?;
    let mut group = ProjectorGroup { projectors: 1, free: Vec::new() };
    if let Some(row) = rows.first() {
        group.projectors = usize::try_from(row.try_get::<i64, _>("projectors")?).unwrap_or(1);
        let free: Vec<i32> = row.try_get("free")?;
        group.free = free.into_iter().map(partition_of).collect();
    }
    Ok(group)
}

/// Takes a partition without a holder; `None`: another projector took it.
///
/// # Errors
/// [`ReadModelError::Unavailable`]; the lease may be taken nevertheless, and expires after `ttl_ms`.
pub async fn take(
    model: &ReadModel,
    partition: Partition,
    holder: &Holder,
    ttl_ms: u64,
) -> Result<Option<Checkpoint>, ReadModelError> {
    let arguments = || arguments![i32::from(partition.0), holder.0.as_str(), signed(ttl_ms)];
    let rows = model.fetch(include_str!("take.sql"), arguments).await?;
    rows.first().map(checkpoint_of).transpose()
}

/// Takes every partition from its holder, whose later writes are rejected. Used to change schemas. Returns the checkpoints by
/// partition.
///
/// # Errors
/// [`ReadModelError::Unavailable`]; the leases may be taken nevertheless, and expire after `ttl_ms`.
pub async fn take_all(model: &ReadModel, holder: &Holder, ttl_ms: u64) -> Result<Vec<Checkpoint>, ReadModelError> {
    let arguments = || arguments![holder.0.as_str(), signed(ttl_ms)];
    let rows = model.fetch(include_str!("take_all.sql"), arguments).await?;
    let taken: Result<Vec<Checkpoint>, _> = rows.iter().map(checkpoint_of).collect();
    let mut taken = taken?;
    taken.sort_unstable_by_key(|checkpoint| checkpoint.lease.partition);
    Ok(taken)
}

/// Renews leases for `ttl_ms`. Returns the checkpoints of those that are still held; other projectors took the rest.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn renew(model: &ReadModel, leases: &[Lease], ttl_ms: u64) -> Result<Vec<Checkpoint>, ReadModelError> {
    let arguments = || bind(bind_leases(leases), signed(ttl_ms));
    let rows = model.fetch(include_str!("renew.sql"), arguments).await?;
    rows.iter().map(checkpoint_of).collect()
}

/// Releases leases, so that others can take them at once.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn release(model: &ReadModel, leases: &[Lease]) -> Result<(), ReadModelError> {
    let sql = include_str!("release.sql");
    model.fetch(sql, || bind_leases(leases)).await.map(drop)
}

/// Removes `holder` from the live projectors.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn leave(model: &ReadModel, holder: &Holder) -> Result<(), ReadModelError> {
    let arguments = || arguments![holder.0.as_str()];
    let sql = "DELETE FROM projector WHERE holder = $1";
    model.fetch(sql, arguments).await.map(drop)
}

/// The checkpoints of all partitions, by partition.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn checkpoints(model: &ReadModel) -> Result<Vec<Checkpoint>, ReadModelError> {
    let arguments = || arguments![None::<Vec<i32>>];
    let rows = model.fetch(include_str!("checkpoints.sql"), arguments).await?;
    rows.iter().map(checkpoint_of).collect()
}

/// Decodes a row of `partition, epoch, sequence`.
pub(crate) fn checkpoint_of(row: &PgRow) -> Result<Checkpoint, ReadModelError> {
    Ok(Checkpoint {
        lease: Lease {
            partition: partition_of(row.try_get("partition")?),
            epoch: Epoch(unsigned(row.try_get("epoch")?)),
        },
        sequence: Sequence(unsigned(row.try_get("sequence")?)),
    })
}

fn bind_leases(leases: &[Lease]) -> PgArguments {
    // Every statement locks checkpoints in this order, which prevents deadlocks.
    let mut leases = leases.to_vec();
    leases.sort_unstable_by_key(|lease| lease.partition);
    let columns = |lease: &Lease| (i32::from(lease.partition.0), signed(lease.epoch.0));
    let (partitions, epochs): (Vec<i32>, Vec<i64>) = leases.iter().map(columns).unzip();
    arguments![partitions, epochs]
}
