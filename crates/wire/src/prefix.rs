//! The prefix of a partition that rows contain, as their checkpoint stores it.

use domain::{ChainHash, CommitId, Partition, Sequence};

use crate::commit::StoredCommit;
use crate::token::RecordId;

/// The prefix of a partition of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// The record; `None`: unknown, because an earlier version wrote the checkpoint.
    pub record: Option<RecordId>,
    /// The partition.
    pub partition: Partition,
    /// The sequence of its last message; 0: the prefix is empty.
    pub end: Sequence,
    /// Its last commit; `None`: it has none, or an earlier version wrote the checkpoint.
    pub last_commit: Option<PrefixCommit>,
}

/// A commit that proves which record a prefix belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixCommit {
    /// Its sequence.
    pub sequence: Sequence,
    /// Its id.
    pub id: CommitId,
    /// The hash chain of its conversation through the commit.
    pub chain: ChainHash,
}

impl From<&StoredCommit> for PrefixCommit {
    fn from(stored: &StoredCommit) -> Self {
        let commit = &stored.opened.commit;
        Self { sequence: stored.position.sequence, id: commit.id, chain: commit.head.chain }
    }
}
