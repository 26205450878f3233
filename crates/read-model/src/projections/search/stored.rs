//! Documents as they are stored, with the filters of their blocks.

use search::{BloomFilter, Term};
use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};

use super::document_row::DocumentRow;
use crate::arguments::{arguments, execute, signed};
use crate::pg_timestamp::PgTimestamp;

/// A stored document.
#[derive(Debug)]
pub(super) struct StoredDocument {
    recorded_at: PgTimestamp,
    terms: Vec<Term>,
    /// The times of its block; reversed if the block is missing.
    block_times: (PgTimestamp, PgTimestamp),
    /// `None`: searches read the whole block.
    filter: Option<BloomFilter>,
}

impl StoredDocument {
    /// Decodes the columns of a document and its block.
    pub(super) fn read(row: &PgRow) -> Result<Self, sqlx::Error> {
        let filter: Option<&[u8]> = row.try_get("filter")?;
        Ok(Self {
            recorded_at: row.try_get("recorded_at")?,
            terms: row.try_get("terms")?,
            block_times: (row.try_get("first_at")?, row.try_get("last_at")?),
            filter: filter.and_then(BloomFilter::from_bytes),
        })
    }

    /// Whether it is the document of the row, and searches find it.
    pub(super) fn is(&self, row: &DocumentRow) -> bool {
        let time = PgTimestamp::from_time(row.recorded_at);
        self.recorded_at == time && self.terms == row.terms && self.is_in_its_block()
    }

    fn is_in_its_block(&self) -> bool {
        let (first, last) = self.block_times;
        let has_terms = |filter: &BloomFilter| self.terms.iter().all(|term| filter.has(*term));
        first <= self.recorded_at && self.recorded_at <= last && self.filter.as_ref().is_none_or(has_terms)
    }
}

/// The documents among some that are not stored so that searches find them.
pub(super) async fn damaged<'r>(
    connection: &mut PgConnection,
    rows: Vec<&'r DocumentRow>,
) -> Result<Vec<&'r DocumentRow>, sqlx::Error> {
    let query = sqlx::query_with(include_str!("documents_with_blocks.sql"), keys_of(&rows));
    let mut is_found = vec![false; rows.len()];
    for stored in query.fetch_all(connection).await? {
        let index = usize::try_from(stored.try_get::<i64, _>("row_index")?).unwrap_or(usize::MAX);
        if let (Some(row), Some(is_found)) = (rows.get(index), is_found.get_mut(index)) {
            *is_found = StoredDocument::read(&stored)?.is(row);
        }
    }
    let rows = rows.into_iter().zip(is_found);
    let damaged = rows.filter(|(_, is_found)| !is_found);
    Ok(damaged.map(|(row, _)| row).collect())
}

/// Deletes the documents of the versions of some rows.
pub(super) async fn delete(connection: &mut PgConnection, rows: &[&DocumentRow]) -> Result<(), sqlx::Error> {
    let sql = include_str!("delete_versions.sql");
    execute(connection, sql, keys_of(rows)).await.map(drop)
}

fn keys_of(rows: &[&DocumentRow]) -> sqlx::postgres::PgArguments {
    let tenants = rows.iter().map(|row| row.key.tenant.as_str());
    let conversations = rows.iter().map(|row| row.key.conversation.as_str());
    let versions = rows.iter().map(|row| signed(row.version));
    arguments![tenants.collect::<Vec<&str>>(), conversations.collect::<Vec<&str>>(), versions.collect::<Vec<i64>>(),]
}
