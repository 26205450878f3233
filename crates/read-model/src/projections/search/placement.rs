//! Distributes documents over blocks.

use std::collections::HashMap;

use super::document_row::{BlockOwner, DocumentRow};
use super::filters::Contents;
use crate::pg_timestamp::PgTimestamp;

/// Maximum number of terms of a block with several documents, counted in each of them.
const BLOCK_TERMS_MAX: usize = 1_024;
/// A block that gets documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block<'r> {
    /// `None`: it is new, and has no id yet.
    pub(super) id: Option<i64>,
    pub(super) is_new: bool,
    pub(super) owner: BlockOwner<'r>,
    pub(super) term_count: usize,
    pub(super) is_open: bool,
}

/// Which blocks get some documents.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Placement<'r> {
    pub(super) blocks: Vec<Block<'r>>,
    /// The index of the block of each document.
    indexes: Vec<usize>,
}

impl<'r> Block<'r> {
    fn new(owner: BlockOwner<'r>) -> Self {
        Self { id: None, is_new: true, owner, term_count: 0, is_open: owner.has_open_block() }
    }

    fn has_room(&self, row: &DocumentRow) -> bool {
        self.term_count == 0 || self.term_count + row.terms.len() <= BLOCK_TERMS_MAX
    }
}

/// Distributes documents, which are sorted by the owners of their blocks.
pub(super) fn place<'r>(rows: &[&'r DocumentRow], mut open: HashMap<BlockOwner<'r>, Block<'r>>) -> Placement<'r> {
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

impl Placement<'_> {
    /// The block of each document.
    pub(super) fn ids(&self) -> Vec<Option<i64>> {
        let blocks = self.indexes.iter().map(|index| self.blocks.get(*index));
        blocks.map(|block| block.and_then(|block| block.id)).collect()
    }

    /// The documents that were written into each new block; `None`: there are none, or the block is not new.
    pub(super) fn contents(&self, rows: &[&DocumentRow], is_placed: &[bool]) -> Vec<Option<Contents>> {
        let mut contents = vec![None; self.blocks.len()];
        let placed = rows.iter().zip(&self.indexes).zip(is_placed);
        for ((row, index), _) in placed.filter(|(_, is_placed)| **is_placed) {
            let block = self.blocks.get(*index).filter(|block| block.is_new);
            if let Some((_, contents)) = block.zip(contents.get_mut(*index)) {
                let contents = contents.get_or_insert_with(Contents::default);
                contents.add(PgTimestamp::from_time(row.recorded_at), &row.terms);
            }
        }
        contents
    }
}

#[cfg(test)]
mod tests {
    use domain::{ConversationId, ConversationKey, Partition, TenantId, Timestamp};

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
    fn check(rows: &[DocumentRow], open: Option<usize>, blocks: &[(bool, usize)], indexes: &[usize]) {
        let rows: Vec<&DocumentRow> = rows.iter().collect();
        let owner = rows[0].block_owner();
        let held = open
            .map(|term_count| Block { id: Some(1), term_count, ..Block::new(owner) })
            .map(|block| (owner, block))
            .into_iter()
            .collect();
        let placement = place(&rows, held);
        let seen: Vec<_> = placement.blocks.iter().map(|block| (block.is_open, block.term_count)).collect();
        assert_eq!((seen.as_slice(), placement.indexes.as_slice()), (blocks, indexes));
    }

    #[test]
    fn documents_fill_blocks() {
        let acme = |terms| row("acme", Some(0), terms);
        check(&[acme(1_000), acme(24)], None, &[(true, 1_024)], &[0, 0]);
        check(&[acme(1_000), acme(25)], None, &[(false, 1_000), (true, 25)], &[0, 1]);
        check(&[acme(24), acme(4_096)], Some(1_000), &[(false, 1_024), (true, 4_096)], &[0, 1]);
        // Each tenant and each partition has blocks of its own.
        let others = [acme(1), row("acme", Some(1), 2), row("globex", Some(1), 3)];
        check(&others, Some(5), &[(true, 6), (true, 2), (true, 3)], &[0, 1, 2]);
        // What is indexed again leaves no open block.
        let again = [row("acme", None, 1_000), row("acme", None, 1_000)];
        check(&again, None, &[(false, 1_000), (false, 1_000)], &[0, 1]);
    }
}
