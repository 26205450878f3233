//! The position of a commit in its conversation and in the record.

use domain::{ConversationKey, Position, Sequence, Version};
use event_log::StoredCommit;
use read_model::HeadRow;
use wire::token::PositionToken;

use crate::target::Reader;

/// The last version of a commit, and the commit's sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommitPosition {
    /// The version of the commit's last event; 0 before the first commit.
    pub version: Version,
    /// The commit's sequence in its partition.
    pub sequence: Sequence,
}

impl CommitPosition {
    /// The position of a commit.
    #[must_use]
    pub fn of(commit: &StoredCommit) -> Self {
        Self {
            version: commit.opened.commit.head.version,
            sequence: commit.position.sequence,
        }
    }

    /// The position in a row.
    pub(crate) fn from_row(row: &HeadRow) -> Self {
        Self {
            version: row.head.version,
            sequence: row.sequence,
        }
    }

    /// The later of two positions of one conversation.
    pub(crate) fn later(self, other: Self) -> Self {
        if self.version > other.version {
            self
        } else {
            other
        }
    }

    /// The token that callers receive for this position of a conversation.
    #[must_use]
    pub fn token(self, reader: &Reader, key: &ConversationKey) -> String {
        PositionToken {
            record: reader.record.id(),
            position: Position {
                partition: reader.record.partition_of(key),
                sequence: self.sequence,
            },
            version: self.version,
        }
        .encode()
    }
}
