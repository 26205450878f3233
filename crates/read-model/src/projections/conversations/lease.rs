//! Leases: who projects which partition. By Postgres's clock alone.
//!
//! A lease that is not renewed in time may be taken by another, under the next epoch. The former holder may not know yet;
//! its writes are refused by the epoch, not by the time.

use domain::{Partition, Sequence};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use crate::error::ReadModelError;
use crate::model::ReadModel;
pub use crate::projections::Holder;
use crate::queries::{bind, signed};

/// How long a lease holds unless it is renewed, in milliseconds.
pub const LEASE_TTL_MS: u64 = 5_000;

/// The number of a partition's holder: grows by one with each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

/// The right to project a partition, until somebody else takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The partition.
    pub partition: Partition,
    /// The epoch in which it was taken.
    pub epoch: Epoch,
}

/// How far a partition is projected, and in which epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// The partition and the epoch.
    pub lease: Lease,
    /// The last sequence that the rows hold; 0: none.
    pub sequence: Sequence,
}

/// What a projector sees of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    /// How many projectors are alive, the asking one among them.
    pub projectors: usize,
    /// The partitions that nobody holds, in order.
    pub free: Vec<Partition>,
}

/// Makes the checkpoints of a record's partitions where they are missing: nothing of those is projected yet.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn ensure(model: &ReadModel, partitions: u16) -> Result<(), ReadModelError> {
    let arguments = || bind(PgArguments::default(), i32::from(partitions));
    let sql = include_str!("ensure_checkpoints.sql");
    model.fetch(sql, arguments).await.map(drop)
}

/// Says that `holder` is alive for `ttl_ms` more; who else is, and what is free.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn announce(
    model: &ReadModel,
    holder: &Holder,
    ttl_ms: u64,
) -> Result<Roster, ReadModelError> {
    let arguments = || {
        bind(
            bind(PgArguments::default(), holder.0.as_str()),
            signed(ttl_ms),
        )
    };
    let rows = model.fetch(include_str!("announce.sql"), arguments).await?;
    let mut roster = Roster {
        projectors: 1,
        free: Vec::new(),
    };
    if let Some(row) = rows.first() {
        roster.projectors = usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or(1);
        let free: Vec<i32> = row.try_get(1)?;
        roster.free = free.into_iter().map(partition_of).collect();
    }
    Ok(roster)
}

/// Takes a partition that nobody holds; `None` when somebody does by now.
///
/// # Errors
/// [`ReadModelError::Unavailable`]; the lease may have been taken all the same, and is free again after `ttl_ms`.
pub async fn take(
    model: &ReadModel,
    partition: Partition,
    holder: &Holder,
    ttl_ms: u64,
) -> Result<Option<Checkpoint>, ReadModelError> {
    let arguments = || {
        let arguments = bind(PgArguments::default(), i32::from(partition.0));
        bind(bind(arguments, holder.0.as_str()), signed(ttl_ms))
    };
    let rows = model.fetch(include_str!("take.sql"), arguments).await?;
    rows.first().map(checkpoint_of).transpose()
}

/// Takes every partition, whoever holds it: the former holders' writes are refused from now on. For who changes the schemas
/// themselves. By partition.
///
/// # Errors
/// [`ReadModelError::Unavailable`]; they may have been taken all the same, and are free again after `ttl_ms`.
pub async fn seize(
    model: &ReadModel,
    holder: &Holder,
    ttl_ms: u64,
) -> Result<Vec<Checkpoint>, ReadModelError> {
    let arguments = || {
        bind(
            bind(PgArguments::default(), holder.0.as_str()),
            signed(ttl_ms),
        )
    };
    let rows = model.fetch(include_str!("seize.sql"), arguments).await?;
    let seized: Result<Vec<Checkpoint>, _> = rows.iter().map(checkpoint_of).collect();
    let mut seized = seized?;
    seized.sort_unstable_by_key(|checkpoint| checkpoint.lease.partition);
    Ok(seized)
}

/// Holds leases for `ttl_ms` more; those that are still held, and how far each is projected. The others have been taken
/// away.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn renew(
    model: &ReadModel,
    leases: &[Lease],
    ttl_ms: u64,
) -> Result<Vec<Checkpoint>, ReadModelError> {
    let arguments = || bind(bind_leases(leases), signed(ttl_ms));
    let rows = model.fetch(include_str!("renew.sql"), arguments).await?;
    rows.iter().map(checkpoint_of).collect()
}

/// Gives leases back, for others to take at once.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn release(model: &ReadModel, leases: &[Lease]) -> Result<(), ReadModelError> {
    let sql = include_str!("release.sql");
    model.fetch(sql, || bind_leases(leases)).await.map(drop)
}

/// Says that `holder` is gone.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn depart(model: &ReadModel, holder: &Holder) -> Result<(), ReadModelError> {
    let arguments = || bind(PgArguments::default(), holder.0.as_str());
    let sql = "DELETE FROM projector WHERE holder = $1";
    model.fetch(sql, arguments).await.map(drop)
}

/// Every partition's checkpoint, by partition.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn checkpoints(model: &ReadModel) -> Result<Vec<Checkpoint>, ReadModelError> {
    let arguments = || bind(PgArguments::default(), None::<Vec<i32>>);
    let rows = model
        .fetch(include_str!("checkpoints.sql"), arguments)
        .await?;
    rows.iter().map(checkpoint_of).collect()
}

/// The checkpoint in a row of `partition, epoch, sequence`.
pub(crate) fn checkpoint_of(row: &PgRow) -> Result<Checkpoint, ReadModelError> {
    let unsigned = |number: i64| u64::try_from(number).unwrap_or(0);
    Ok(Checkpoint {
        lease: Lease {
            partition: partition_of(row.try_get(0)?),
            epoch: Epoch(unsigned(row.try_get(1)?)),
        },
        sequence: Sequence(unsigned(row.try_get(2)?)),
    })
}

/// A partition's number, which fits: [`ensure`] made it of one.
fn partition_of(number: i32) -> Partition {
    Partition(u16::try_from(number).unwrap_or(u16::MAX))
}

fn bind_leases(leases: &[Lease]) -> PgArguments {
    // In one order everywhere, so that two who want the same rows do not wait for each other.
    let mut leases = leases.to_vec();
    leases.sort_unstable_by_key(|lease| lease.partition);
    let partitions: Vec<i32> = leases
        .iter()
        .map(|lease| i32::from(lease.partition.0))
        .collect();
    let epochs: Vec<i64> = leases.iter().map(|lease| signed(lease.epoch.0)).collect();
    bind(bind(PgArguments::default(), partitions), epochs)
}
