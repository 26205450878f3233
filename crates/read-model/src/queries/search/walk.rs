//! Reads the blocks of a tenant that may have the terms, the latest first, until a page is full.
//!
//! The filters choose the blocks; their documents are compared with the terms, and those that have them with the rows of their
//! conversations. The times of blocks overlap, so a page is full only when no later block may have a newer document. Rare words are in
//! few blocks, and common words fill a page soon.

use domain::TenantAccess;
use search::{PROBES_PER_TERM, Term, probes};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};

use super::query::{CANDIDATES_MAX, CandidateCount, DocumentOrder, DocumentQuery, Page, query_arguments};
use super::statements::{OwnerColumn, Shape, Way, blocks_statement, documents_statement};
use crate::arguments::{arguments, bind};
use crate::pg_timestamp::PgTimestamp;

/// Number of blocks that one statement chooses.
const BLOCKS_PER_READ: i64 = 2_048;
/// Number of blocks whose documents the first statement compares. Each later one compares four times as many, up to the maximum.
const FIRST_BLOCKS: usize = 16;
const BLOCKS_PER_STATEMENT_MAX: usize = 512;
/// Number of blocks that one statement compares only to count documents, after the page is full; and until counting ends.
const COUNTED_BLOCKS_PER_STATEMENT: usize = 64;
const COUNTED_BLOCKS_MAX: usize = 256;

/// A block that may have documents. It is also the cursor of the blocks after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    id: i64,
    /// No document is later. `infinity`: unknown.
    last_at: PgTimestamp,
}

impl Block {
    /// The cursor before all blocks.
    const START: Self = Self { id: i64::MAX, last_at: PgTimestamp::INFINITY };
}

/// A row of a page.
#[derive(Debug)]
struct DocumentRow {
    order: DocumentOrder,
    row: PgRow,
}

/// A page under way.
#[derive(Debug)]
struct Walk<'q> {
    query: &'q DocumentQuery,
    /// The first documents of all blocks that were read, newest first.
    rows: Vec<DocumentRow>,
    candidates: u64,
    blocks: usize,
}

/// A page, of one owner if there is a column.
///
/// # Errors
/// As those of its statements.
pub(super) async fn walk(
    connection: &mut PgConnection,
    access: &TenantAccess,
    query: &DocumentQuery,
    owner: Option<OwnerColumn>,
) -> Result<Page, sqlx::Error> {
    let mut walk = Walk { query, rows: Vec::new(), candidates: 0, blocks: 0 };
    let mut after = Block::START;
    let mut count = FIRST_BLOCKS;
    loop {
        let blocks = read_blocks(connection, access, query, after).await?;
        let mut rest = blocks.as_slice();
        while let Some(next) = rest.first() {
            if walk.is_done(*next) {
                return Ok(walk.end(true));
            }
            let (limit, blocks_max) = if walk.is_full(*next) {
                (0, COUNTED_BLOCKS_PER_STATEMENT)
            } else {
                (query.limit, BLOCKS_PER_STATEMENT_MAX)
            };
            let (some, others) = rest.split_at(count.min(blocks_max).min(rest.len()));
            let arguments = document_arguments(access, query, limit, some);
            let sql = documents_statement(Way::Blocks(owner), Shape::of(&query.terms)).unwrap_or_default();
            let rows = sqlx::query_with(sql, arguments).fetch_all(&mut *connection);
            walk.add(rows.await?, some.len())?;
            rest = others;
            count = (count * 4).min(BLOCKS_PER_STATEMENT_MAX);
        }
        let is_end = i64::try_from(blocks.len()).is_ok_and(|count| count < BLOCKS_PER_READ);
        let Some(last) = blocks.last().filter(|_| !is_end) else {
            return Ok(walk.end(false));
        };
        after = *last;
    }
}

impl Walk<'_> {
    /// Whether neither the page nor the count needs the next block.
    fn is_done(&self, next: Block) -> bool {
        let is_first_page = self.query.after.is_none();
        let is_counted = self.candidates > u64::from(CANDIDATES_MAX);
        let needs_count = is_first_page && !is_counted && self.blocks < COUNTED_BLOCKS_MAX;
        self.is_full(next) && !needs_count
    }

    /// Whether no document of the next block, or of a later one, belongs to the page.
    fn is_full(&self, next: Block) -> bool {
        let last =
            usize::try_from(self.query.limit).unwrap_or(usize::MAX).checked_sub(1).and_then(|last| self.rows.get(last));
        last.is_some_and(|document| document.order.recorded_at > next.last_at)
    }

    /// Adds the rows of a statement: those of a page, or one with only the number of candidates.
    fn add(&mut self, rows: Vec<PgRow>, blocks: usize) -> Result<(), sqlx::Error> {
        self.blocks += blocks;
        for (index, row) in rows.into_iter().enumerate() {
            if index == 0 {
                self.candidates += row.try_get::<i64, _>("candidates")?.unsigned_abs();
            }
            if let Some(conversation) = row.try_get("conversation_id")? {
                let (recorded_at, version) = (row.try_get("recorded_at")?, row.try_get("version")?);
                self.rows.push(DocumentRow { order: DocumentOrder { recorded_at, conversation, version }, row });
            }
        }
        self.rows.sort_by(|one, other| other.order.cmp(&one.order));
        self.rows.truncate(usize::try_from(self.query.limit).unwrap_or(usize::MAX));
        Ok(())
    }

    fn end(self, has_more_blocks: bool) -> Page {
        let rows = self.rows.into_iter().map(|document| document.row).collect();
        Page { rows, candidates: CandidateCount::of(self.candidates, has_more_blocks) }
    }
}

/// The next blocks after one, the latest first.
async fn read_blocks(
    connection: &mut PgConnection,
    access: &TenantAccess,
    query: &DocumentQuery,
    after: Block,
) -> Result<Vec<Block>, sqlx::Error> {
    let terms = &query.terms;
    let of_all = arguments![
        access.tenant().as_str(),
        query.first_time(),
        query.bound().recorded_at,
        after.last_at,
        after.id,
        BLOCKS_PER_READ,
        by_probe(&terms.all),
    ];
    let arguments = terms.any.iter().fold(of_all, |arguments, group| bind(arguments, by_term(group)));
    let sql = blocks_statement(Shape::of(&query.terms)).unwrap_or_default();
    let rows = sqlx::query_with(sql, arguments).fetch_all(connection).await?;
    rows.iter().map(|row| Ok(Block { id: row.try_get("block_id")?, last_at: row.try_get("last_at")? })).collect()
}

fn document_arguments(access: &TenantAccess, query: &DocumentQuery, limit: u32, blocks: &[Block]) -> PgArguments {
    let ids: Vec<i64> = blocks.iter().map(|block| block.id).collect();
    bind(query_arguments(access, query, limit), ids)
}

/// The first probes of all terms, then the second ones, and so on: the first probes tell most of different terms.
fn by_probe(terms: &[Term]) -> Vec<i64> {
    let probes: Vec<_> = terms.iter().map(|term| probes(*term)).collect();
    let numbers = 0..PROBES_PER_TERM;
    numbers.flat_map(|number| probes.iter().filter_map(move |probes| probes.get(number))).copied().collect()
}

/// All probes of the first term, then those of the second one, and so on.
fn by_term(terms: &[Term]) -> Vec<i64> {
    terms.iter().flat_map(|term| probes(*term)).collect()
}
