//! Compares what databases and the archive's catalogue contain with the record.

use std::collections::BTreeMap;

use domain::{Partition, Sequence};
use event_log::{CatalogueError, Record, Unavailable};
use read_model::projections::conversations::prefixes;
use read_model::{ReadModel, ReadModelError};
use thiserror::Error;
use wire::prefix::Prefix;

use crate::divergence::{Divergence, Holder};

/// Why nothing was compared.
#[derive(Debug, Error)]
pub enum CompareError {
    /// The record does not answer.
    #[error(transparent)]
    Record(#[from] Unavailable),
    /// The rows do not answer.
    #[error(transparent)]
    Rows(#[from] ReadModelError),
    /// The archive's catalogue cannot be read.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
}

/// A prefix and what holds it.
pub(crate) type Held = (Holder, Prefix);

/// The divergences of the live rows and of the search of a database with its shards, by partition of each.
///
/// # Errors
/// [`CompareError`].
pub async fn find(record: &Record, model: &ReadModel) -> Result<Vec<Divergence>, CompareError> {
    let mut held = Vec::new();
    for database in model.databases() {
        held.extend(held_by(&database).await?);
    }
    Ok(compare(record, &held).await?)
}

/// The divergences of one schema, of a partition or of all: of the rows of conversations, or of the search for a handle of
/// [`ReadModel::for_search`].
///
/// # Errors
/// [`CompareError`].
pub async fn find_in_schema(
    record: &Record,
    schema: &ReadModel,
    partition: Option<Partition>,
) -> Result<Vec<Divergence>, CompareError> {
    let is_asked = |prefix: &Prefix| partition.is_none_or(|partition| partition == prefix.partition);
    let held = prefixes(schema).await?.into_iter().filter(is_asked).map(|prefix| (Holder::Rows(None), prefix));
    Ok(compare(record, &held.collect::<Vec<_>>()).await?)
}

/// The prefixes of a database: those of its rows, and those of its search.
pub(crate) async fn held_by(database: &ReadModel) -> Result<Vec<Held>, ReadModelError> {
    let shard = || database.shard_name().map(str::to_owned);
    let rows = prefixes(database).await?.into_iter().map(|prefix| (Holder::Rows(shard()), prefix));
    let search = prefixes(&database.for_search()).await?.into_iter().map(|prefix| (Holder::Search(shard()), prefix));
    Ok(rows.chain(search).collect())
}

/// Compares prefixes with the record. Equal ones are compared once.
pub(crate) async fn compare(record: &Record, held: &[Held]) -> Result<Vec<Divergence>, Unavailable> {
    let mut distinct: Vec<Prefix> = Vec::new();
    for (_, prefix) in held {
        if !distinct.contains(prefix) {
            distinct.push(*prefix);
        }
    }
    let mismatches = record.compare(&distinct).await?;
    let compared = || distinct.iter().zip(&mismatches);
    let mismatch = |prefix: &Prefix| compared().find(|(one, _)| *one == prefix).and_then(|(_, mismatch)| *mismatch);
    let divergences = held.iter().filter_map(|(holder, prefix)| {
        let mismatch = mismatch(prefix)?;
        Some(Divergence { holder: holder.clone(), partition: prefix.partition, end: prefix.end, mismatch })
    });
    Ok(divergences.collect())
}

/// The partitions that end before a commit that the archive's catalogue has: new commits would get the sequences of archived ones.
///
/// # Errors
/// [`CompareError`].
pub async fn find_in_catalogue(record: &Record) -> Result<Vec<Divergence>, CompareError> {
    let mut ends: BTreeMap<Partition, Sequence> = BTreeMap::new();
    for catalogued in record.archive_entries(None).await? {
        if let Some(sealed) = catalogued.entry.sealed {
            let end = ends.entry(Partition(catalogued.entry.partition)).or_default();
            *end = (*end).max(Sequence(sealed.last_sequence));
        }
    }
    let prefix = |(partition, end)| Prefix { record: None, partition, end, last_commit: None };
    let held: Vec<Held> = ends.into_iter().map(|end| (Holder::Catalogue, prefix(end))).collect();
    Ok(compare(record, &held).await?)
}
