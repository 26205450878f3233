//! A contradiction between the record and what was computed from it.

use std::fmt;

use domain::{Partition, Sequence};
use event_log::PrefixMismatch;

/// A prefix of a partition that the record does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// What holds the prefix.
    pub holder: Holder,
    /// The partition.
    pub partition: Partition,
    /// The sequence of the last message of the prefix.
    pub end: Sequence,
    /// What the record has instead.
    pub mismatch: PrefixMismatch,
}

/// What holds a prefix of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// The rows of conversations; with the name of the shard, or none for the first database.
    Rows(Option<String>),
    /// The index of the search, of the same databases.
    Search(Option<String>),
    /// The catalogue of the archive.
    Catalogue,
    /// The commits that the record has acknowledged to this process.
    Acknowledged,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(None) => f.write_str("the rows"),
            Self::Rows(Some(shard)) => write!(f, "the rows of shard {shard}"),
            Self::Search(None) => f.write_str("the search"),
            Self::Search(Some(shard)) => write!(f, "the search of shard {shard}"),
            Self::Catalogue => f.write_str("the archive's catalogue"),
            Self::Acknowledged => f.write_str("the acknowledged commits"),
        }
    }
}

impl std::error::Error for Divergence {}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { holder, partition, end, mismatch } = self;
        write!(f, "partition {partition}: {holder} reach sequence {end}, but ")?;
        match mismatch {
            PrefixMismatch::OtherRecord { .. } => write!(f, "of another record: {mismatch}"),
            PrefixMismatch::NoRecord | PrefixMismatch::Shorter { .. } | PrefixMismatch::OtherCommit { .. } => {
                write!(f, "{mismatch}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{ChainHash, CommitId};
    use wire::prefix::PrefixCommit;
    use wire::token::RecordId;

    use super::*;

    #[test]
    fn a_divergence_names_both_sides() {
        let check = |holder, mismatch, expected: &str| {
            let divergence = Divergence { holder, partition: Partition(3), end: Sequence(812), mismatch };
            assert_eq!(divergence.to_string(), expected);
        };
        check(
            Holder::Rows(None),
            PrefixMismatch::Shorter { last: Sequence(640) },
            "partition 3: the rows reach sequence 812, but the record ends at sequence 640",
        );
        let commit = PrefixCommit {
            sequence: Sequence(812),
            id: CommitId("01900000-0000-7000-8000-000000000001".parse().unwrap()),
            chain: ChainHash::default(),
        };
        check(
            Holder::Search(Some("eu".to_owned())),
            PrefixMismatch::OtherCommit { commit },
            "partition 3: the search of shard eu reach sequence 812, but the record has another commit at sequence 812, which is not 01900000-0000-7000-8000-000000000001",
        );
        check(
            Holder::Rows(None),
            PrefixMismatch::OtherRecord { rows: RecordId([1; 8]), record: RecordId([2; 8]) },
            "partition 3: the rows reach sequence 812, but of another record: it belongs to the record 0101010101010101, and this is 0202020202020202",
        );
    }
}
