//! Taking out of the record what a segment holds.

use std::collections::BTreeMap;

use domain::{ConversationKey, Sequence, Status};
use event_log::{ArchiveEntry, ArchivedSegment};

use crate::archive::{Archive, CataloguedSegment};
use crate::error::ArchiveError;
use crate::object::Object;
use crate::segment::{ConversationEntry, Index};

/// What was trimmed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trimmed {
    /// Commits that the record held still.
    pub commits: u64,
    /// Conversations of the segment that are erased: it must be swept.
    pub erased: Vec<ConversationKey>,
    /// Conversations whose last commit in the record is not past the segment's: they were left as they are.
    pub kept: Vec<ConversationKey>,
    /// Conversations of which the record holds commits before the segment's end that are not in the segment: those stay in
    /// the record, and an operator must look.
    pub unsealed: Vec<ConversationKey>,
}

enum Outcome {
    Gone(u64),
    Erased,
    Kept,
    Unsealed(u64),
}

impl Archive {
    /// Overwrites and removes from the record what a sealed segment holds, sequence by sequence, and nothing else. Begun
    /// again after a crash, it goes on. Whoever calls it has read all of the segment back: when it was sealed, or by
    /// [`Archive::load`] since.
    ///
    /// # Errors
    /// [`ArchiveError`]: call again.
    pub async fn trim(&self, segment: CataloguedSegment) -> Result<Trimmed, ArchiveError> {
        let object = self.object(&segment)?;
        let index = object.index().await?;
        let sealed = sequences(&object, &index).await?;
        let mut trimmed = Trimmed::default();
        // One behind the other: the server overwrites messages one by one, and whoever asks it something else waits meanwhile.
        for stretch in &index.conversations {
            let sequences = sealed.get(&stretch.key).map_or(&[][..], Vec::as_slice);
            let add = |commits| trimmed.commits.saturating_add(commits);
            match self.trim_one(stretch, sequences).await? {
                Outcome::Gone(commits) => trimmed.commits = add(commits),
                Outcome::Unsealed(commits) => {
                    trimmed.commits = add(commits);
                    trimmed.unsealed.push(stretch.key.clone());
                }
                Outcome::Erased => trimmed.erased.push(stretch.key.clone()),
                Outcome::Kept => trimmed.kept.push(stretch.key.clone()),
            }
        }
        if trimmed.kept.is_empty() && trimmed.unsealed.is_empty() {
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

    async fn trim_one(
        &self,
        stretch: &ConversationEntry,
        sequences: &[Sequence],
    ) -> Result<Outcome, ArchiveError> {
        let ConversationEntry { key, last, .. } = stretch;
        let standing = self.record.last_from_leader(key).await?;
        let Some(standing) = standing.filter(|standing| standing.position.sequence > *last) else {
            return Ok(Outcome::Kept);
        };
        if matches!(standing.open_head(), Ok(head) if head.status == Status::Erased) {
            return Ok(Outcome::Erased);
        }
        if !self.reaches_into(stretch).await? {
            return Ok(Outcome::Gone(0));
        }
        let gone = self.record.trim(key, sequences).await?;
        Ok(if self.reaches_into(stretch).await? {
            Outcome::Unsealed(gone)
        } else {
            Outcome::Gone(gone)
        })
    }

    /// Whether the record holds a commit of a conversation that is not past the end of its stretch.
    async fn reaches_into(&self, stretch: &ConversationEntry) -> Result<bool, ArchiveError> {
        let first = self.record.first_of(&stretch.key).await?;
        Ok(first.is_some_and(|first| first <= stretch.last))
    }
}

/// The sequences that a segment holds, by conversation, in order.
async fn sequences(
    object: &Object,
    index: &Index,
) -> Result<BTreeMap<ConversationKey, Vec<Sequence>>, ArchiveError> {
    let mut sequences: BTreeMap<ConversationKey, Vec<Sequence>> = BTreeMap::new();
    for block in &index.blocks {
        for message in object.block(index, block).await? {
            let sequence = message.sequence();
            sequences.entry(message.key).or_default().push(sequence);
        }
    }
    Ok(sequences)
}
