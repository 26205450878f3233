//! How far the search is, for its answers.

use domain::{Partition, Sequence, TenantAccess, Timestamp};
use sqlx::Row as _;

use crate::arguments::{arguments, partition_of, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::pg_timestamp::PgTimestamp;

/// How far a partition is indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchCheckpoint {
    /// The partition.
    pub partition: Partition,
    /// The last sequence that is indexed; 0: none.
    pub sequence: Sequence,
    /// When the last indexed commit was recorded; `None`: none is.
    pub indexed_at: Option<Timestamp>,
}

/// How far the search is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchProgress {
    /// The partitions, in order.
    pub checkpoints: Vec<SearchCheckpoint>,
    /// Whether documents of some agents of the tenant are being indexed again.
    pub is_reindexing: bool,
}

/// How far the search is for a tenant.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn search_progress(model: &ReadModel, access: &TenantAccess) -> Result<SearchProgress, ReadModelError> {
    let arguments = || arguments![access.tenant().as_str()];
    let rows = model.read(access, include_str!("progress.sql"), arguments);
    let mut progress = SearchProgress::default();
    for row in &rows.await? {
        let indexed_at: PgTimestamp = row.try_get("indexed_at")?;
        progress.checkpoints.push(SearchCheckpoint {
            partition: partition_of(row.try_get("partition")?),
            sequence: Sequence(unsigned(row.try_get("sequence")?)),
            indexed_at: (indexed_at != PgTimestamp::NEGATIVE_INFINITY).then(|| indexed_at.with_nanos(0)),
        });
        progress.is_reindexing = row.try_get("is_reindexing")?;
    }
    Ok(progress)
}
