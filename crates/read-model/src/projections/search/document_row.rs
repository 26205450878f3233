//! A row of `document`.

use domain::{ConversationKey, Partition, TenantId, Timestamp};
use search::Term;

/// The version of a title's document.
pub(super) const TITLE_VERSION: u64 = 0;

/// A row of `document`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentRow {
    pub(super) key: ConversationKey,
    /// The partition whose blocks take it. `None`: it is indexed again, into a block of its own.
    pub(super) partition: Option<Partition>,
    pub(super) version: u64,
    pub(super) recorded_at: Timestamp,
    pub(super) terms: Vec<Term>,
}

/// Whose documents a block takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct BlockOwner<'r> {
    pub(super) tenant: &'r TenantId,
    /// `None`: the block takes only documents of one statement.
    pub(super) partition: Option<Partition>,
}

impl BlockOwner<'_> {
    /// Whether a new block of the owner stays open for the documents of later statements.
    pub(super) fn has_open_block(self) -> bool {
        self.partition.is_some()
    }

    /// The partition as in its column.
    pub(super) fn partition_number(self) -> Option<i32> {
        self.partition.map(|partition| i32::from(partition.0))
    }
}

impl DocumentRow {
    pub(super) fn block_owner(&self) -> BlockOwner<'_> {
        BlockOwner { tenant: &self.key.tenant, partition: self.partition }
    }

    /// Whether it is probably the first document of its version.
    pub(super) fn is_new(&self) -> bool {
        self.partition.is_some() && self.version != TITLE_VERSION
    }
}
