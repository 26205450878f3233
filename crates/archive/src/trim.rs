//! Taking out of the record what a segment holds.

use domain::{ConversationKey, Sequence, Status};
use event_log::{ArchiveEntry, ArchivedSegment};

use crate::archive::{Archive, CataloguedSegment};
use crate::error::ArchiveError;
use crate::segment::ConversationEntry;

/// What was trimmed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trimmed {
    /// Commits that the record held still.
    pub commits: u64,
    /// Conversations of the segment that are erased: it must be swept.
    pub erased: Vec<ConversationKey>,
    /// Conversations whose last commit in the record is not past the segment's: they were left as they are.
    pub kept: Vec<ConversationKey>,
}

enum Outcome {
    Gone(u64),
    Erased,
    Kept,
}

impl Archive {
    /// Overwrites and removes from the record what a sealed segment holds, and nothing else: what came later stays. Begun
    /// again after a crash, it goes on. Whoever calls it has read all of the segment back: when it was sealed, or by
    /// [`Archive::load`] since.
    ///
    /// # Errors
    /// [`ArchiveError`]: call again.
    pub async fn trim(&self, segment: CataloguedSegment) -> Result<Trimmed, ArchiveError> {
        let index = self.object(&segment)?.index().await?;
        let mut trimmed = Trimmed::default();
        // One behind the other: the server overwrites messages one by one, and whoever asks it something else waits meanwhile.
        for stretch in &index.conversations {
            match self.trim_one(stretch).await? {
                Outcome::Gone(commits) => trimmed.commits = trimmed.commits.saturating_add(commits),
                Outcome::Erased => trimmed.erased.push(stretch.key.clone()),
                Outcome::Kept => trimmed.kept.push(stretch.key.clone()),
            }
        }
        if trimmed.kept.is_empty() {
            let entry = ArchiveEntry {
                sealed: Some(ArchivedSegment {
                    is_trimmed: true,
                    ..segment.sealed
                }),
                ..segment.catalogued.entry
            };
            let revision = Some(segment.catalogued.revision);
            self.record.put_archive_entry(&entry, revision).await?;
        }
        Ok(trimmed)
    }

    async fn trim_one(&self, stretch: &ConversationEntry) -> Result<Outcome, ArchiveError> {
        let ConversationEntry { key, last, .. } = stretch;
        let standing = self.record.last_from_leader(key).await?;
        let Some(standing) = standing.filter(|standing| standing.position.sequence > *last) else {
            return Ok(Outcome::Kept);
        };
        if matches!(standing.open_head(), Ok(head) if head.status == Status::Erased) {
            return Ok(Outcome::Erased);
        }
        let first_to_stay = Sequence(last.0.saturating_add(1));
        let gone = self.record.trim_before(key, first_to_stay).await?;
        Ok(Outcome::Gone(gone))
    }
}
