//! The prefixes of partitions that the rows contain: which record the rows were computed from, and up to which commit.

use domain::{ChainHash, CommitId, Sequence};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};
use uuid::Uuid;
use wire::prefix::{Prefix, PrefixCommit};
use wire::token::RecordId;

use crate::arguments::{partition_of, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// The prefix of each partition that has a checkpoint, in order: those of conversations, or of the search for a handle of
/// [`ReadModel::for_search`].
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn prefixes(model: &ReadModel) -> Result<Vec<Prefix>, ReadModelError> {
    let rows = model.fetch(include_str!("prefixes.sql"), PgArguments::default).await?;
    rows.iter().map(prefix).collect()
}

/// Whether the database has rows of a record. Also before the first migration.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn has_rows(model: &ReadModel) -> Result<bool, ReadModelError> {
    let exists = model.fetch("SELECT to_regclass('checkpoint') IS NOT NULL", PgArguments::default).await?;
    if !exists.first().map_or(Ok(false), |row| row.try_get(0))? {
        return Ok(false);
    }
    let found = "SELECT EXISTS (SELECT FROM checkpoint WHERE sequence > 0)";
    let found = model.fetch(found, PgArguments::default).await?;
    Ok(found.first().map_or(Ok(false), |row| row.try_get(0))?)
}

fn prefix(row: &PgRow) -> Result<Prefix, ReadModelError> {
    let partition = partition_of(row.try_get("partition")?);
    let corrupt = |field: &str| ReadModelError::corrupt("checkpoint", format!("partition {partition}"), field);
    let record: Option<Vec<u8>> = row.try_get("record_id")?;
    let record = record.map(|id| id.try_into().map(RecordId)).transpose().map_err(|_| corrupt("record_id"))?;
    let chain: Option<Vec<u8>> = row.try_get("chain")?;
    let chain = chain.map(|chain| chain.try_into().map(ChainHash)).transpose().map_err(|_| corrupt("chain"))?;
    let sequence: Option<i64> = row.try_get("commit_sequence")?;
    let id: Option<Uuid> = row.try_get("commit_id")?;
    let last_commit = sequence.zip(id).zip(chain).map(|((sequence, id), chain)| PrefixCommit {
        sequence: Sequence(unsigned(sequence)),
        id: CommitId(id),
        chain,
    });
    Ok(Prefix { record, partition, end: Sequence(unsigned(row.try_get("sequence")?)), last_commit })
}
