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

/// Whose documents a block takes. Without a partition, only those of one statement.
pub(super) type BlockOwner<'r> = (&'r TenantId, Option<Partition>);

impl DocumentRow {
    pub(super) fn block_owner(&self) -> BlockOwner<'_> {
        (&self.key.tenant, self.partition)
    }

    /// Whether it is probably the first document of its version.
    pub(super) fn is_new(&self) -> bool {
        self.partition.is_some() && self.version != TITLE_VERSION
    }
}
