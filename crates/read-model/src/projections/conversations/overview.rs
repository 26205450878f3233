//! The state of the projection, for operators: counts and names of processes, no data of tenants.

use std::collections::BTreeMap;

use domain::{Partition, Sequence};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use super::lease::{Holder, checkpoint_of};
use crate::arguments::{arguments, partition_of, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::head_of;

/// Maximum number of erased conversations whose commits are counted.
pub const ERASED_COUNTED_MAX: u32 = 100_000;

/// The state of the projection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// The live projectors, by name.
    pub projectors: Vec<Holder>,
    /// The partitions that have a checkpoint, in order.
    pub partitions: Vec<PartitionOverview>,
}

/// The state of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionOverview {
    /// The partition.
    pub partition: Partition,
    /// The epoch of the current or last holder; 0: no holder yet.
    pub epoch: u64,
    /// The last sequence that the rows contain; 0: none.
    pub checkpoint: Sequence,
    /// The projector that holds it; `None`: none, or its lease expired.
    pub holder: Option<Holder>,
    /// Number of parked conversations.
    pub parked: u64,
}

/// The commits that erasures removed from a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErasedCommits {
    /// The partition.
    pub partition: Partition,
    /// Number of commits of erased conversations before their tombstones.
    pub commits: u64,
}

/// Reads the state of the projection.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn overview(model: &ReadModel) -> Result<Overview, ReadModelError> {
    let alive = "SELECT holder FROM projector WHERE alive_until > now() ORDER BY holder";
    read(model, alive, include_str!("partitions_overview.sql")).await
}

/// As [`overview()`], for readers, who see the rows of one tenant otherwise.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn overview_by_reader(model: &ReadModel) -> Result<Overview, ReadModelError> {
    let alive = "SELECT holder FROM hansard.live_projectors()";
    let partitions = "SELECT partition, epoch, sequence, holder, parked FROM hansard.partitions_overview()";
    read(model, alive, partitions).await
}

async fn read(model: &ReadModel, alive: &'static str, partitions: &'static str) -> Result<Overview, ReadModelError> {
    let rows = model.fetch(alive, PgArguments::default).await?;
    let projectors = rows.iter().map(|row| Ok(Holder(row.try_get(0)?))).collect::<Result<_, ReadModelError>>()?;
    let rows = model.fetch(partitions, PgArguments::default).await?;
    Ok(Overview { projectors, partitions: rows.iter().map(partition).collect::<Result<_, _>>()? })
}

/// The commits that erasures removed, by partition, according to the rows; `None`: there are more than
/// [`ERASED_COUNTED_MAX`] erased conversations.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn erased_commits(model: &ReadModel) -> Result<Option<Vec<ErasedCommits>>, ReadModelError> {
    let arguments = || arguments![i64::from(ERASED_COUNTED_MAX) + 1];
    let sql = include_str!("erased_heads.sql");
    let rows = model.fetch(sql, arguments).await?;
    if u32::try_from(rows.len()).is_ok_and(|count| count > ERASED_COUNTED_MAX) {
        return Ok(None);
    }
    let mut removed: BTreeMap<Partition, u64> = BTreeMap::new();
    for row in &rows {
        let (partition, commits) = erased(row)?;
        *removed.entry(partition).or_default() += commits;
    }
    let removed = removed.into_iter().map(|(partition, commits)| ErasedCommits { partition, commits });
    Ok(Some(removed.collect()))
}

fn partition(row: &PgRow) -> Result<PartitionOverview, ReadModelError> {
    let checkpoint = checkpoint_of(row)?;
    let holder: Option<String> = row.try_get("holder")?;
    Ok(PartitionOverview {
        partition: checkpoint.lease.partition,
        epoch: checkpoint.lease.epoch.0,
        checkpoint: checkpoint.sequence,
        holder: holder.map(Holder),
        parked: unsigned(row.try_get("parked")?),
    })
}

/// The partition of an erased conversation, and its number of commits before the tombstone.
fn erased(row: &PgRow) -> Result<(Partition, u64), ReadModelError> {
    let partition: i32 = row.try_get(0)?;
    let head = head_of(row.try_get(1)?).map_err(|field| {
        ReadModelError::corrupt("conversation", format!("an erased one of partition {partition}"), field)
    })?;
    let commits = head.totals.commits.saturating_sub(1);
    Ok((partition_of(partition), commits))
}
