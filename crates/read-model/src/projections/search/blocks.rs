//! Blocks: some documents of a tenant with a Bloom filter of their terms.
//!
//! The documents of a partition fill its open block of each tenant; a full block is closed and gets a filter. Documents that are indexed
//! again stay in their blocks, and a new block that gets no document is not written. Triggers of the table remove the filter of a block
//! whose documents are changed or deleted, and [`super::fill_step`] makes it again. A block without a filter may have any document, so
//! searches read all of it.

use std::collections::{HashMap, HashSet};

use search::{BloomFilter, Term};
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::{Executor as _, Row as _};

use super::document_row::{BlockOwner, DocumentRow};
use super::filters::{Contents, fill};
use super::placement::{Block, place};
use crate::arguments::{arguments, execute, signed};
use crate::error::sqlstate_of;
use crate::pg_timestamp::PgTimestamp;

const INSERT: &str = include_str!("insert_documents.sql");
const REPLACE: &str = concat!(include_str!("insert_documents.sql"), include_str!("on_earlier_documents.sql"));
/// The SQLSTATE of a second row with one key.
const UNIQUE_VIOLATION: &str = "23505";

/// A document, and the id of the block that it gets if it has none.
type Placed<'r> = (&'r DocumentRow, Option<i64>);
/// The key of a document in its block, as in its columns.
#[derive(PartialEq, Eq, Hash)]
struct DocumentKey<'r> {
    block: Option<i64>,
    tenant: &'r str,
    conversation: &'r str,
    version: i64,
}

impl<'r> DocumentKey<'r> {
    /// The key in a row of [`replace`].
    fn read(row: &'r PgRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            block: row.try_get("block_id")?,
            tenant: row.try_get("tenant_id")?,
            conversation: row.try_get("conversation_id")?,
            version: row.try_get("version")?,
        })
    }
}

/// Writes documents, in place of earlier ones of the same versions, and their blocks.
pub(super) async fn write(connection: &mut PgConnection, rows: Vec<&DocumentRow>) -> Result<(), sqlx::Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut rows = rows;
    // A block has documents of about the same time.
    rows.sort_by_key(|row| (row.block_owner(), row.recorded_at));
    let open = open_blocks(connection, &rows).await?;
    let mut placement = place(&rows, open);
    name_blocks(connection, &mut placement.blocks).await?;
    let is_placed = write_documents(connection, &rows, &placement.ids()).await?;
    let contents = placement.contents(&rows, &is_placed);
    write_blocks(connection, &placement.blocks, contents).await?;
    // A block that was open before has documents of earlier batches, too.
    let closed: Vec<i64> =
        placement.blocks.iter().filter(|block| !block.is_open && !block.is_new).filter_map(|block| block.id).collect();
    fill(connection, &closed).await
}

/// The open blocks of the owners of documents.
async fn open_blocks<'r>(
    connection: &mut PgConnection,
    rows: &[&'r DocumentRow],
) -> Result<HashMap<BlockOwner<'r>, Block<'r>>, sqlx::Error> {
    let mut owners: Vec<BlockOwner<'r>> = rows.iter().map(|row| row.block_owner()).collect();
    owners.dedup();
    let tenants: Vec<&str> = owners.iter().map(|owner| owner.tenant.as_str()).collect();
    let partitions: Vec<Option<i32>> = owners.iter().map(|owner| owner.partition_number()).collect();
    let query = sqlx::query_with(include_str!("open_blocks.sql"), arguments![tenants, partitions]);
    let mut blocks = HashMap::new();
    for row in query.fetch_all(connection).await? {
        let (number, term_count): (i64, i32) = (row.try_get("owner_index")?, row.try_get("term_count")?);
        let owner = usize::try_from(number).map(|index| owners.get(index));
        if let Ok(Some(owner)) = owner {
            let block = Block {
                id: Some(row.try_get("block_id")?),
                is_new: false,
                owner: *owner,
                term_count: usize::try_from(term_count).unwrap_or(0),
                is_open: true,
            };
            blocks.insert(*owner, block);
        }
    }
    Ok(blocks)
}

/// Gives new blocks their ids.
async fn name_blocks(connection: &mut PgConnection, blocks: &mut [Block<'_>]) -> Result<(), sqlx::Error> {
    let new: Vec<&mut Block<'_>> = blocks.iter_mut().filter(|block| block.id.is_none()).collect();
    if new.is_empty() {
        return Ok(());
    }
    let count = i64::try_from(new.len()).unwrap_or(i64::MAX);
    let query = sqlx::query_with(include_str!("new_block_ids.sql"), arguments![count]);
    let ids = query.fetch_all(connection).await?;
    for (block, id) in new.into_iter().zip(ids) {
        block.id = Some(id.try_get(0)?);
    }
    Ok(())
}

/// Writes documents into the blocks of these ids. Those of new events have no earlier version, unless they were indexed again before
/// the projection reached them. So they are inserted first without looking for it, which takes two thirds of the time.
///
/// Returns for each document whether it was written into that block: one that was indexed before stays in its own block.
async fn write_documents(
    connection: &mut PgConnection,
    rows: &[&DocumentRow],
    ids: &[Option<i64>],
) -> Result<Vec<bool>, sqlx::Error> {
    let placed = rows.iter().copied().zip(ids.iter().copied());
    let (new, mut others): (Vec<_>, Vec<_>) = placed.partition(|(row, _)| row.is_new());
    let is_inserted = new.is_empty() || insert(connection, &new).await?;
    if !is_inserted {
        others.extend(new);
    }
    let replaced = replace(connection, &others).await?;
    let written = replaced.iter().map(DocumentKey::read).collect::<Result<HashSet<_>, sqlx::Error>>()?;
    let is_placed = rows.iter().zip(ids).map(|(row, id)| {
        let key = DocumentKey {
            block: *id,
            tenant: row.key.tenant.as_str(),
            conversation: row.key.conversation.as_str(),
            version: signed(row.version),
        };
        row.is_new() && is_inserted || written.contains(&key)
    });
    Ok(is_placed.collect())
}

/// Inserts documents. Returns whether it did: none is inserted if one of them has an earlier version.
async fn insert(connection: &mut PgConnection, new: &[Placed<'_>]) -> Result<bool, sqlx::Error> {
    connection.execute("SAVEPOINT documents").await?;
    match execute(connection, INSERT, document_arguments(new)).await {
        Err(error) if sqlstate_of(&error).as_deref() == Some(UNIQUE_VIOLATION) => {
            connection.execute("ROLLBACK TO SAVEPOINT documents").await?;
            Ok(false)
        }
        outcome => outcome.map(|_| true),
    }
}

/// Inserts documents, or writes them in place of earlier ones. Returns the [`DocumentKey`] of each one that is new or has changed.
async fn replace(connection: &mut PgConnection, placed: &[Placed<'_>]) -> Result<Vec<PgRow>, sqlx::Error> {
    if placed.is_empty() {
        return Ok(Vec::new());
    }
    let query = sqlx::query_with(REPLACE, document_arguments(placed));
    query.fetch_all(connection).await
}

fn document_arguments(placed: &[Placed<'_>]) -> PgArguments {
    let ids: Vec<Option<i64>> = placed.iter().map(|(_, id)| *id).collect();
    let rows = || placed.iter().map(|(row, _)| *row);
    let versions = rows().map(|row| signed(row.version));
    let times = rows().map(|row| PgTimestamp::from_time(row.recorded_at));
    let tenants = rows().map(|row| row.key.tenant.as_str());
    let conversations = rows().map(|row| row.key.conversation.as_str());
    // An array of arrays must be a rectangle, so the terms of all documents are one array, with the places of each.
    let mut terms: Vec<Term> = Vec::with_capacity(rows().map(|row| row.terms.len()).sum());
    rows().for_each(|row| terms.extend_from_slice(&row.terms));
    let lasts: Vec<i32> = rows()
        .scan(0_usize, |last, row| {
            *last += row.terms.len();
            Some(*last)
        })
        .map(number)
        .collect();
    let firsts = std::iter::once(0).chain(lasts.iter().copied()).take(placed.len()).map(|last| last.saturating_add(1));
    arguments![
        ids,
        versions.collect::<Vec<i64>>(),
        times.collect::<Vec<PgTimestamp>>(),
        tenants.collect::<Vec<&str>>(),
        conversations.collect::<Vec<&str>>(),
        firsts.collect::<Vec<i32>>(),
        lasts,
        terms,
    ]
}

/// Writes blocks, except new ones without documents. New ones that are closed get their filters at once.
async fn write_blocks(
    connection: &mut PgConnection,
    blocks: &[Block<'_>],
    contents: Vec<Option<Contents>>,
) -> Result<(), sqlx::Error> {
    let (blocks, contents): (Vec<&Block<'_>>, Vec<Option<Contents>>) =
        blocks.iter().zip(contents).filter(|(block, contents)| !block.is_new || contents.is_some()).unzip();
    let ids: Vec<Option<i64>> = blocks.iter().map(|block| block.id).collect();
    let partitions: Vec<Option<i32>> = blocks.iter().map(|block| block.owner.partition_number()).collect();
    let counts: Vec<i32> = blocks.iter().map(|block| number(block.term_count)).collect();
    let open: Vec<bool> = blocks.iter().map(|block| block.is_open).collect();
    let tenants: Vec<&str> = blocks.iter().map(|block| block.owner.tenant.as_str()).collect();
    let closed: Vec<Option<Contents>> =
        blocks.iter().zip(contents).map(|(block, contents)| contents.filter(|_| !block.is_open)).collect();
    let times = |contents: &Option<Contents>| {
        let unknown = (PgTimestamp::NEGATIVE_INFINITY, PgTimestamp::INFINITY);
        let times = contents.as_ref().and_then(|contents| contents.times);
        times.unwrap_or(unknown)
    };
    let (firsts, lasts): (Vec<_>, Vec<_>) = closed.iter().map(times).unzip();
    let filters: Vec<Option<BloomFilter>> =
        closed.into_iter().map(|contents| contents.map(|contents| BloomFilter::of(contents.terms))).collect();
    let filter_bytes: Vec<Option<&[u8]>> =
        filters.iter().map(|filter| filter.as_ref().map(BloomFilter::as_bytes)).collect();
    let arguments = arguments![ids, firsts, lasts, partitions, counts, open, tenants, filter_bytes];
    let sql = include_str!("write_blocks.sql");
    execute(connection, sql, arguments).await.map(drop)
}

/// A number of terms: batches are far smaller than the bound.
fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
