//! How the projection stands: for operators. Counts and names of processes alone, nothing of any tenant's.

use std::collections::BTreeMap;

use domain::{Head, Partition, Sequence};
use prost::Message as _;
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};
use wire::proto::event::v1 as proto;

use super::lease::{Holder, checkpoint_of};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::queries::bind;

/// Most erased conversations whose commits are counted.
pub const ERASED_COUNTED_MAX: u32 = 100_000;

/// How the projection stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// The projectors that are alive, by name.
    pub projectors: Vec<Holder>,
    /// The partitions that were ever looked at, in order.
    pub partitions: Vec<PartitionOverview>,
}

/// How a partition is projected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionOverview {
    /// The partition.
    pub partition: Partition,
    /// The number of its present or last holder; 0: it had none yet.
    pub epoch: u64,
    /// The last sequence that the rows hold; 0: none.
    pub checkpoint: Sequence,
    /// Who projects it; `None`: nobody, or somebody whose lease has run out.
    pub holder: Option<Holder>,
    /// How many of its conversations are parked.
    pub parked: u64,
}

/// What erasures have taken from a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErasedCommits {
    /// The partition.
    pub partition: Partition,
    /// Commits that erased conversations had before their tombstones.
    pub commits: u64,
}

/// How the projection stands now.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn overview(model: &ReadModel) -> Result<Overview, ReadModelError> {
    let alive = "SELECT holder FROM projector WHERE alive_until > now() ORDER BY holder";
    let rows = model.fetch(alive, PgArguments::default).await?;
    let projectors = rows.iter().map(|row| Ok(Holder(row.try_get(0)?)));
    let projectors = projectors.collect::<Result<_, ReadModelError>>()?;
    let sql = include_str!("partitions_overview.sql");
    let rows = model.fetch(sql, PgArguments::default).await?;
    Ok(Overview {
        projectors,
        partitions: rows.iter().map(partition).collect::<Result<_, _>>()?,
    })
}

/// What erasures have taken from each partition that they touched, in order, as far as the rows know; `None`: there are more
/// than [`ERASED_COUNTED_MAX`] erased conversations.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn erased_commits(
    model: &ReadModel,
) -> Result<Option<Vec<ErasedCommits>>, ReadModelError> {
    let arguments = || bind(PgArguments::default(), i64::from(ERASED_COUNTED_MAX) + 1);
    let sql = include_str!("erased_heads.sql");
    let rows = model.fetch(sql, arguments).await?;
    if u32::try_from(rows.len()).is_ok_and(|count| count > ERASED_COUNTED_MAX) {
        return Ok(None);
    }
    let mut taken: BTreeMap<Partition, u64> = BTreeMap::new();
    for row in &rows {
        let (partition, commits) = erased(row)?;
        *taken.entry(partition).or_default() += commits;
    }
    let taken = taken.into_iter();
    let taken = taken.map(|(partition, commits)| ErasedCommits { partition, commits });
    Ok(Some(taken.collect()))
}

fn partition(row: &PgRow) -> Result<PartitionOverview, ReadModelError> {
    let checkpoint = checkpoint_of(row)?;
    let holder: Option<String> = row.try_get(3)?;
    Ok(PartitionOverview {
        partition: checkpoint.lease.partition,
        epoch: checkpoint.lease.epoch.0,
        checkpoint: checkpoint.sequence,
        holder: holder.map(Holder),
        parked: u64::try_from(row.try_get::<i64, _>(4)?).unwrap_or(0),
    })
}

/// An erased conversation's partition, and how many commits it had before its tombstone.
fn erased(row: &PgRow) -> Result<(Partition, u64), ReadModelError> {
    let partition: i32 = row.try_get(0)?;
    let head = head(row.try_get(1)?).ok_or_else(|| ReadModelError::Corrupt {
        table: "conversation",
        row: format!("an erased one of partition {partition}"),
        field: "head".to_owned(),
    })?;
    let partition = Partition(u16::try_from(partition).unwrap_or(u16::MAX));
    Ok((partition, head.totals.commits.saturating_sub(1)))
}

fn head(bytes: &[u8]) -> Option<Head> {
    wire::head::from_proto(proto::Head::decode(bytes).ok()?).ok()
}
