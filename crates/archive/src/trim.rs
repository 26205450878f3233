//! Removal of sealed commits from the record.

use std::collections::BTreeMap;

use domain::{ConversationKey, Sequence, Status};
use event_log::ArchivedSegment;

use crate::object::Object;
use crate::segment::{ConversationEntry, Index};
use crate::{Archive, ArchiveError, CataloguedSegment};

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
            self.trim_one(range, sequences, &mut trimmed).await?;
        }
        if trimmed.kept.is_empty() && trimmed.unsealed.is_empty() {
            let sealed = ArchivedSegment {
                is_trimmed: true,
                ..segment.sealed.clone()
            };
            self.replace_sealed(segment, sealed).await?;
        }
        Ok(trimmed)
    }

    async fn trim_one(
        &self,
        range: &ConversationEntry,
        sequences: &[Sequence],
        trimmed: &mut TrimResult,
    ) -> Result<(), ArchiveError> {
        let ConversationEntry { key, last, .. } = range;
        let last_commit = self.record.last_from_leader(key).await?;
        let later = last_commit.filter(|last_commit| last_commit.position.sequence > *last);
        let Some(later) = later else {
            trimmed.kept.push(key.clone());
            return Ok(());
        };
        if matches!(later.open_head(), Ok(head) if head.status == Status::Erased) {
            trimmed.erased.push(key.clone());
        } else if self.has_commits_until(range).await? {
            let gone = self.record.trim(key, sequences).await?;
            trimmed.commits = trimmed.commits.saturating_add(gone);
            if self.has_commits_until(range).await? {
                trimmed.unsealed.push(key.clone());
            }
        }
        Ok(())
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
