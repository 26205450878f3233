//! The position of a commit in its conversation and in the record.

use archive::Archive;
use domain::{ConversationKey, Position, Sequence, Version};
use event_log::{StoredCommit, Unavailable};
use read_model::HeadRow;
use wire::token::PositionToken;

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
        Self { version: commit.opened.commit.head.version, sequence: commit.position.sequence }
    }

    /// The position in a row.
    pub(crate) fn from_row(row: &HeadRow) -> Self {
        Self { version: row.head.version, sequence: row.sequence }
    }

    /// The later of two positions of one conversation.
    pub(crate) fn later(self, other: Self) -> Self {
        if self.version > other.version { self } else { other }
    }

    /// The token that callers receive for this position of a conversation.
    ///
    /// # Errors
    /// [`Unavailable`]: the conversation's partition is not known, and the record does not answer.
    pub async fn token(self, archive: &Archive, key: &ConversationKey) -> Result<PositionToken, Unavailable> {
        Ok(PositionToken {
            record: archive.record().id(),
            position: Position { partition: archive.partition_of(key).await?, sequence: self.sequence },
            version: self.version,
        })
    }
}
