//! The filters of blocks.

use std::collections::BTreeMap;

use search::{BloomFilter, Term};
use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use crate::arguments::{arguments, execute};
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};
use crate::pg_timestamp::PgTimestamp;

/// Maximum number of blocks that get their filters by one statement.
const FILTERS_PER_STATEMENT_MAX: usize = 256;

/// The documents of a block.
#[derive(Debug, Clone, Default)]
pub(super) struct Contents {
    /// The first and the last time.
    pub(super) times: Option<(PgTimestamp, PgTimestamp)>,
    pub(super) terms: Vec<Term>,
}

/// Makes the filters of some blocks that have none, at most 256. Returns their number.
///
/// # Errors
/// [`ReadModelError`]: no filter was made.
pub async fn fill_step(model: &ReadModel) -> Result<usize, ReadModelError> {
    let work = async |connection: &mut PgConnection| {
        let limit = i64::try_from(FILTERS_PER_STATEMENT_MAX).unwrap_or(i64::MAX);
        let query = sqlx::query_with(include_str!("take_blocks.sql"), arguments![limit]);
        // From here on, a change of documents of the blocks waits before it removes their filters.
        let rows = query.fetch_all(&mut *connection).await?;
        let ids: Result<Vec<i64>, _> = rows.iter().map(|row| row.try_get(0)).collect();
        let ids = ids?;
        fill(connection, &ids).await?;
        Ok(ids.len())
    };
    model.transaction(Durability::Durable, work).await
}

/// Makes the filters of closed blocks from their documents. Blocks without documents are deleted.
pub(super) async fn fill(connection: &mut PgConnection, ids: &[i64]) -> Result<(), sqlx::Error> {
    for ids in ids.chunks(FILTERS_PER_STATEMENT_MAX) {
        let query = sqlx::query_with(include_str!("documents_of_blocks.sql"), arguments![ids]);
        let rows = query.fetch_all(&mut *connection).await?;
        let mut blocks: BTreeMap<i64, Contents> = ids.iter().map(|id| (*id, Contents::default())).collect();
        for row in &rows {
            let (at, terms): (PgTimestamp, Vec<Term>) = (row.try_get("recorded_at")?, row.try_get("terms")?);
            let block = blocks.entry(row.try_get("block_id")?).or_default();
            block.add(at, &terms);
        }
        write_filters(connection, blocks).await?;
    }
    Ok(())
}

impl Contents {
    pub(super) fn add(&mut self, at: PgTimestamp, terms: &[Term]) {
        let (first, last) = self.times.unwrap_or((at, at));
        self.times = Some((first.min(at), last.max(at)));
        self.terms.extend_from_slice(terms);
    }
}

async fn write_filters(connection: &mut PgConnection, blocks: BTreeMap<i64, Contents>) -> Result<(), sqlx::Error> {
    let (mut ids, mut firsts, mut lasts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut filters, mut empty) = (Vec::new(), Vec::new());
    for (id, contents) in blocks {
        let Some((first, last)) = contents.times else {
            empty.push(id);
            continue;
        };
        ids.push(id);
        firsts.push(first);
        lasts.push(last);
        filters.push(BloomFilter::of(contents.terms));
    }
    let filters: Vec<&[u8]> = filters.iter().map(BloomFilter::as_bytes).collect();
    let arguments = arguments![ids, firsts, lasts, filters];
    execute(connection, include_str!("write_filters.sql"), arguments).await?;
    if !empty.is_empty() {
        let sql = "DELETE FROM block WHERE block_id = ANY ($1::bigint[])";
        execute(connection, sql, arguments![empty]).await?;
    }
    Ok(())
}
