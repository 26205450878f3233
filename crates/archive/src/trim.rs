//! Removal of sealed commits from the record.

use std::collections::BTreeMap;

use domain::{ConversationKey, Sequence, Status};
use event_log::{ArchiveEntry, ArchivedSegment};

use crate::archive::{Archive, CataloguedSegment};
use crate::error::ArchiveError;
use crate::object::Object;
use crate::segment::{ConversationEntry, Index};

/// The result of trimming a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrimResult {
    /// Commits that were removed from the record.
    pub commits: u64,
    /// Erased conversations of the segment: it must be swept.
    pub erased: Vec<ConversationKey>,
    /// Conversations that were not trimmed, because the record has no commit after the segment's last one.
    pub kept: Vec<ConversationKey>,
    /// Conversations with commits in the record that are before the segment's end but not in the segment. These stay in the
    /// record; an operator must inspect them.
    pub unsealed: Vec<ConversationKey>,
}

enum Outcome {
    Removed(u64),
    Erased,
    Kept,
    Unsealed(u64),
}

impl Archive {
    /// Overwrites and removes the commits of a sealed segment from the record, sequence by sequence, and nothing else. A second call
    /// continues after a crash. The caller must have read the whole segment back: when it was sealed, or with
    /// [`Archive::load`].
    ///
    /// # Errors
    /// [`ArchiveError`]: call again.
    pub async fn trim(&self, segment: CataloguedSegment) -> Result<TrimResult, ArchiveError> {
        let object = self.object(&segment)?;
        let index = object.index().await?;
        let sealed = sequences(&object, &index).await?;
        let mut trimmed = TrimResult::default();
        // Sequentially: the server overwrites one message at a time, and other requests wait meanwhile.
        for range in &index.conversations {
            let sequences = sealed.get(&range.key).map_or(&[][..], Vec::as_slice);
            let add = |commits| trimmed.commits.saturating_add(commits);
            match self.trim_one(range, sequences).await? {
                Outcome::Removed(commits) => trimmed.commits = add(commits),
                Outcome::Unsealed(commits) => {
                    trimmed.commits = add(commits);
                    trimmed.unsealed.push(range.key.clone());
                }
                Outcome::Erased => trimmed.erased.push(range.key.clone()),
                Outcome::Kept => trimmed.kept.push(range.key.clone()),
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
        range: &ConversationEntry,
        sequences: &[Sequence],
    ) -> Result<Outcome, ArchiveError> {
        let ConversationEntry { key, last, .. } = range;
        let last_commit = self.record.last_from_leader(key).await?;
        let Some(last_commit) =
            last_commit.filter(|last_commit| last_commit.position.sequence > *last)
        else {
            return Ok(Outcome::Kept);
        };
        if matches!(last_commit.open_head(), Ok(head) if head.status == Status::Erased) {
            return Ok(Outcome::Erased);
        }
        if !self.has_commits_until(range).await? {
            return Ok(Outcome::Removed(0));
        }
        let gone = self.record.trim(key, sequences).await?;
        Ok(if self.has_commits_until(range).await? {
            Outcome::Unsealed(gone)
        } else {
            Outcome::Removed(gone)
        })
    }

    /// Whether the record has a commit of a conversation that is not after its range.
    async fn has_commits_until(&self, range: &ConversationEntry) -> Result<bool, ArchiveError> {
        let first = self.record.first_sequence(&range.key).await?;
        Ok(first.is_some_and(|first| first <= range.last))
    }
}

/// The sequences of a segment by conversation, in order.
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
