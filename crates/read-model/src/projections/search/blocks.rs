//! Blocks: some documents of a tenant with a Bloom filter of their terms.
//!
//! The documents of a partition fill its open block of each tenant; a full block is closed and gets a filter. Documents that are indexed
//! again stay in their blocks. Triggers of the table remove the filter of a block whose documents are changed or deleted, and
//! [`fill_step`] makes it again. A block without a filter may have any document, so searches read all of it.

use std::collections::{BTreeMap, HashMap};

use domain::{Partition, TenantId};
use search::{BloomFilter, Term};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::Row as _;

use super::rows::DocumentRow;
use crate::arguments::{arguments, execute};
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};
use crate::pg_timestamp::PgTimestamp;

/// Maximum number of terms of a block with several documents, counted in each of them.
const BLOCK_TERMS_MAX: usize = 1_024;
/// Maximum number of blocks that get their filters by one statement.
const FILTERS_PER_STATEMENT_MAX: usize = 256;

/// Whose documents a block takes. Without a partition, only those of one statement.
pub(super) type BlockOwner<'r> = (&'r TenantId, Option<Partition>);

/// A block that gets documents.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block<'r> {
    /// `None`: it is new.
    id: Option<i64>,
    owner: BlockOwner<'r>,
    term_count: usize,
    is_open: bool,
}

/// The documents of a block.
#[derive(Debug, Default)]
struct Contents {
    /// The first and the last time.
    times: Option<(PgTimestamp, PgTimestamp)>,
    terms: Vec<Term>,
}

/// Which blocks get some documents.
#[derive(Debug, Default, PartialEq, Eq)]
struct Placement<'r> {
    blocks: Vec<Block<'r>>,
    /// The index of the block of each document.
    indexes: Vec<usize>,
}

/// Makes the filters of some blocks that have none, at most 256. Returns their number.
///
/// # Errors
/// [`ReadModelError`]: no filter was made.
pub async fn fill_step(model: &ReadModel) -> Result<usize, ReadModelError> {
    let work = async |connection: &mut PgConnection| {
        let limit = i64::try_from(FILTERS_PER_STATEMENT_MAX).unwrap_or(i64::MAX);
        let query = sqlx::query_with(include_str!("take_blocks.sql"), arguments![limit]);
        // From here on, whoever changes documents of the blocks waits before removing their filters.
        let rows = query.fetch_all(&mut *connection).await?;
        let ids: Result<Vec<i64>, _> = rows.iter().map(|row| row.try_get(0)).collect();
        let ids = ids?;
        fill(connection, &ids).await?;
        Ok(ids.len())
    };
    model.transaction(Durability::Durable, work).await
}

/// Writes documents, in place of earlier ones of the same versions, and their blocks.
pub(super) async fn write(
    connection: &mut PgConnection,
    rows: Vec<&DocumentRow>,
) -> Result<(), sqlx::Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut rows = rows;
    // A block has documents of about the same time.
    rows.sort_by_key(|row| (row.block_owner(), row.recorded_at));
    let open = open_blocks(connection, &rows).await?;
    let mut placement = place(&rows, open);
    name_blocks(connection, &mut placement.blocks).await?;
    write_documents(connection, &rows, &placement).await?;
    write_blocks(connection, &placement.blocks).await?;
    let closed = placement.blocks.iter().filter(|block| !block.is_open);
    let closed: Vec<i64> = closed.filter_map(|block| block.id).collect();
    fill(connection, &closed).await
}

impl<'r> Block<'r> {
    fn new(owner: BlockOwner<'r>) -> Self {
        Self {
            id: None,
            owner,
            term_count: 0,
            is_open: owner.1.is_some(),
        }
    }

    fn has_room(&self, row: &DocumentRow) -> bool {
        self.term_count == 0 || self.term_count + row.terms.len() <= BLOCK_TERMS_MAX
    }
}

/// Distributes documents, which are sorted by the owners of their blocks.
fn place<'r>(
    rows: &[&'r DocumentRow],
    mut open: HashMap<BlockOwner<'r>, Block<'r>>,
) -> Placement<'r> {
    let mut placement = Placement::default();
    let blocks = &mut placement.blocks;
    for row in rows {
        let owner = row.block_owner();
        if blocks.last().is_none_or(|block| block.owner != owner) {
            blocks.push(open.remove(&owner).unwrap_or_else(|| Block::new(owner)));
        }
        if let Some(full) = blocks.last_mut().filter(|block| !block.has_room(row)) {
            full.is_open = false;
            blocks.push(Block::new(owner));
        }
        if let Some(block) = blocks.last_mut() {
            block.term_count += row.terms.len();
        }
        placement.indexes.push(blocks.len() - 1);
    }
    placement
}

/// The open blocks of the owners of documents.
async fn open_blocks<'r>(
    connection: &mut PgConnection,
    rows: &[&'r DocumentRow],
) -> Result<HashMap<BlockOwner<'r>, Block<'r>>, sqlx::Error> {
    let mut owners: Vec<BlockOwner<'r>> = rows.iter().map(|row| row.block_owner()).collect();
    owners.dedup();
    let tenants: Vec<&str> = owners.iter().map(|(tenant, _)| tenant.as_str()).collect();
    let partitions: Vec<Option<i32>> = owners.iter().map(|owner| partition(*owner)).collect();
    let query = sqlx::query_with(
        include_str!("open_blocks.sql"),
        arguments![tenants, partitions],
    );
    let mut blocks = HashMap::new();
    for row in query.fetch_all(connection).await? {
        let (number, term_count): (i64, i32) = (row.try_get(0)?, row.try_get(2)?);
        let owner = usize::try_from(number).map(|index| owners.get(index));
        if let Ok(Some(owner)) = owner {
            let block = Block {
                id: Some(row.try_get(1)?),
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
async fn name_blocks(
    connection: &mut PgConnection,
    blocks: &mut [Block<'_>],
) -> Result<(), sqlx::Error> {
    let new: Vec<&mut Block<'_>> = blocks
        .iter_mut()
        .filter(|block| block.id.is_none())
        .collect();
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

async fn write_documents(
    connection: &mut PgConnection,
    rows: &[&DocumentRow],
    placement: &Placement<'_>,
) -> Result<(), sqlx::Error> {
    let ids = placement.indexes.iter();
    let ids = ids.map(|index| placement.blocks.get(*index).and_then(|block| block.id));
    let versions = rows.iter().map(|row| crate::arguments::signed(row.version));
    let times = rows
        .iter()
        .map(|row| PgTimestamp::from_time(row.recorded_at));
    let tenants = rows.iter().map(|row| row.key.tenant.as_str());
    let conversations = rows.iter().map(|row| row.key.conversation.as_str());
    // An array of arrays must be a rectangle, so the terms of all documents are one array, with the places of each.
    let terms: Vec<Term> = rows.iter().flat_map(|row| &row.terms).copied().collect();
    let lasts = rows.iter().scan(0_usize, |last, row| {
        *last += row.terms.len();
        Some(*last)
    });
    let lasts: Vec<i32> = lasts.map(number).collect();
    let firsts = std::iter::once(0).chain(lasts.iter().copied());
    let firsts = firsts.take(rows.len()).map(|last| last.saturating_add(1));
    let arguments = arguments![
        ids.collect::<Vec<Option<i64>>>(),
        versions.collect::<Vec<i64>>(),
        times.collect::<Vec<PgTimestamp>>(),
        tenants.collect::<Vec<&str>>(),
        conversations.collect::<Vec<&str>>(),
        firsts.collect::<Vec<i32>>(),
        lasts,
        terms,
    ];
    let sql = include_str!("write_documents.sql");
    execute(connection, sql, arguments).await.map(drop)
}

async fn write_blocks(
    connection: &mut PgConnection,
    blocks: &[Block<'_>],
) -> Result<(), sqlx::Error> {
    let ids: Vec<Option<i64>> = blocks.iter().map(|block| block.id).collect();
    let partitions: Vec<Option<i32>> = blocks.iter().map(|block| partition(block.owner)).collect();
    let counts: Vec<i32> = blocks.iter().map(|block| number(block.term_count)).collect();
    let open: Vec<bool> = blocks.iter().map(|block| block.is_open).collect();
    let tenants = blocks.iter().map(|block| block.owner.0.as_str());
    let tenants: Vec<&str> = tenants.collect();
    let arguments = arguments![ids, partitions, counts, open, tenants];
    let sql = include_str!("write_blocks.sql");
    execute(connection, sql, arguments).await.map(drop)
}

/// Makes the filters of closed blocks from their documents. Blocks without documents are deleted.
async fn fill(connection: &mut PgConnection, ids: &[i64]) -> Result<(), sqlx::Error> {
    for ids in ids.chunks(FILTERS_PER_STATEMENT_MAX) {
        let query = sqlx::query_with(include_str!("documents_of_blocks.sql"), arguments![ids]);
        let rows = query.fetch_all(&mut *connection).await?;
        let mut blocks: BTreeMap<i64, Contents> =
            ids.iter().map(|id| (*id, Contents::default())).collect();
        for row in &rows {
            blocks.entry(row.try_get(0)?).or_default().add(row)?;
        }
        write_filters(connection, blocks).await?;
    }
    Ok(())
}

impl Contents {
    /// Adds a document of `documents_of_blocks.sql`.
    fn add(&mut self, row: &PgRow) -> Result<(), sqlx::Error> {
        let at: PgTimestamp = row.try_get(1)?;
        let (first, last) = self.times.unwrap_or((at, at));
        self.times = Some((first.min(at), last.max(at)));
        self.terms.extend(row.try_get::<Vec<Term>, _>(2)?);
        Ok(())
    }
}

async fn write_filters(
    connection: &mut PgConnection,
    blocks: BTreeMap<i64, Contents>,
) -> Result<(), sqlx::Error> {
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

fn partition((_, partition): BlockOwner<'_>) -> Option<i32> {
    partition.map(|partition| i32::from(partition.0))
}

/// A number of terms: batches are far smaller than the bound.
fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use domain::{ConversationId, ConversationKey, Timestamp};

    use super::*;

    fn row(tenant: &str, partition: Option<u16>, terms: usize) -> DocumentRow {
        DocumentRow {
            key: ConversationKey {
                tenant: TenantId::parse(tenant).unwrap(),
                conversation: ConversationId::parse("c").unwrap(),
            },
            partition: partition.map(Partition),
            version: 1,
            recorded_at: Timestamp(0),
            terms: vec![7; terms],
        }
    }

    /// The blocks: whether each is open, and its terms; and the index of each document's block.
    fn check(
        rows: &[DocumentRow],
        open: Option<usize>,
        blocks: &[(bool, usize)],
        indexes: &[usize],
    ) {
        let rows: Vec<&DocumentRow> = rows.iter().collect();
        let owner = rows[0].block_owner();
        let held = open.map(|term_count| Block {
            id: Some(1),
            term_count,
            ..Block::new(owner)
        });
        let held = held.map(|block| (owner, block)).into_iter().collect();
        let placement = place(&rows, held);
        let seen = placement.blocks.iter();
        let seen: Vec<_> = seen.map(|block| (block.is_open, block.term_count)).collect();
        assert_eq!((seen.as_slice(), placement.indexes.as_slice()), (blocks, indexes));
    }

    #[test]
    fn documents_fill_blocks() {
        let acme = |terms| row("acme", Some(0), terms);
        check(&[acme(1_000), acme(24)], None, &[(true, 1_024)], &[0, 0]);
        check(
            &[acme(1_000), acme(25)],
            None,
            &[(false, 1_000), (true, 25)],
            &[0, 1],
        );
        check(&[acme(24), acme(4_096)], Some(1_000), &[(false, 1_024), (true, 4_096)], &[0, 1]);
        // Each tenant and each partition has blocks of its own.
        let others = [acme(1), row("acme", Some(1), 2), row("globex", Some(1), 3)];
        check(&others, Some(5), &[(true, 6), (true, 2), (true, 3)], &[0, 1, 2]);
        // What is indexed again leaves no open block.
        let again = [row("acme", None, 1_000), row("acme", None, 1_000)];
        check(&again, None, &[(false, 1_000), (false, 1_000)], &[0, 1]);
    }
}
