//! The state of the projection, for operators: positions and sizes, no data of tenants.

use domain::{Partition, Sequence};
use sqlx::Row as _;
use sqlx::postgres::PgArguments;

use crate::arguments::{partition_of, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// The state of the search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchOverview {
    /// The last indexed sequence of each partition that has a checkpoint, in order.
    pub checkpoints: Vec<(Partition, Sequence)>,
    /// Number of documents, as the planner of Postgres estimates it.
    pub documents: u64,
    /// Size of the documents on disk, in bytes, without their indexes.
    pub documents_bytes: u64,
    /// Size of the indexes and of the blocks, in bytes.
    pub index_bytes: u64,
}

/// Reads the state of the search. Readers may call it.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn search_overview(model: &ReadModel) -> Result<SearchOverview, ReadModelError> {
    let sql = "SELECT partition, sequence FROM search_v1.checkpoint ORDER BY partition";
    let rows = model.fetch(sql, PgArguments::default).await?;
    let checkpoint = |row: &sqlx::postgres::PgRow| {
        let sequence = Sequence(unsigned(row.try_get("sequence")?));
        Ok((partition_of(row.try_get("partition")?), sequence))
    };
    let checkpoints = rows.iter().map(checkpoint).collect::<Result<_, ReadModelError>>()?;
    let sizes = model.fetch(include_str!("sizes.sql"), PgArguments::default).await?;
    let Some(row) = sizes.first() else {
        return Ok(SearchOverview::default());
    };
    Ok(SearchOverview {
        checkpoints,
        documents: unsigned(row.try_get("documents")?),
        documents_bytes: unsigned(row.try_get("documents_bytes")?),
        index_bytes: unsigned(row.try_get("index_bytes")?),
    })
}
