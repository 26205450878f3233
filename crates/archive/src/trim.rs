//! Removal of sealed commits from the record.

use std::collections::BTreeMap;

use domain::{ConversationKey, Sequence, Status};
use event_log::ArchivedSegment;

use crate::object::Object;
use crate::segment::{ConversationEntry, Index};
use crate::{Archive, ArchiveError, CataloguedSegment};

/// What trimming does with the last commits of hibernated conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastCommits {
    /// They stay in the record: other processes may not know the segment yet.
    Keep,
    /// They are removed. The segment must have been in the catalogue for [`HIBERNATION_DELAY_MIN`](crate::HIBERNATION_DELAY_MIN).
    Remove,
}

/// The result of trimming a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrimResult {
    /// Commits that were removed from the record.
    pub commits: u64,
    /// Conversations whose last commit waits for its removal.
    pub waiting: u64,
    /// Conversations whose last commit was removed from the record.
    pub hibernated: u64,
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
    pub async fn trim(
        &self,
        segment: CataloguedSegment,
        last_commits: LastCommits,
    ) -> Result<TrimResult, ArchiveError> {
        let object = self.object(&segment)?;
        let index = object.index().await?;
        let sealed = sequences(&object, &index).await?;
        let mut trimmed = TrimResult::default();
        // Sequentially: the server overwrites one message at a time, and other requests wait meanwhile.
        for range in &index.conversations {
            let sequences = sealed.get(&range.key).map_or(&[][..], Vec::as_slice);
            self.trim_one(range, sequences, last_commits, &mut trimmed)
                .await?;
        }
        if trimmed.kept.is_empty() && trimmed.unsealed.is_empty() && trimmed.waiting == 0 {
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
        last_commits: LastCommits,
        trimmed: &mut TrimResult,
    ) -> Result<(), ArchiveError> {
        let ConversationEntry { key, last, .. } = range;
        if range.is_hibernated && last_commits == LastCommits::Keep && sequences == [*last] {
            // Nothing is removed before the last commit.
            trimmed.waiting += 1;
            return Ok(());
        }
        let last_commit = self.record.last_from_leader(key).await?;
        let later = match last_commit {
            // It was removed by an earlier call.
            None if range.is_hibernated => return Ok(()),
            Some(commit) if commit.position.sequence == *last && range.is_hibernated => {
                let hibernated = self.hibernate(range, sequences, last_commits, trimmed);
                return hibernated.await;
            }
            Some(commit) if commit.position.sequence > *last => commit,
            Some(_) | None => {
                trimmed.kept.push(key.clone());
                return Ok(());
            }
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

    /// Removes the commits of a conversation that has no later one, the last commit last: without it, an older one would be the
    /// conversation's last commit in the record. An append meanwhile stays, because only sealed sequences are removed.
    async fn hibernate(
        &self,
        range: &ConversationEntry,
        sequences: &[Sequence],
        last_commits: LastCommits,
        trimmed: &mut TrimResult,
    ) -> Result<(), ArchiveError> {
        let key = &range.key;
        let before = sequences.strip_suffix(&[range.last]).unwrap_or_default();
        let gone = self.record.trim(key, before).await?;
        trimmed.commits = trimmed.commits.saturating_add(gone);
        if self.record.first_sequence(key).await? != Some(range.last) {
            trimmed.unsealed.push(key.clone());
            return Ok(());
        }
        match last_commits {
            LastCommits::Keep => trimmed.waiting += 1,
            LastCommits::Remove => {
                let gone = self.record.trim(key, &[range.last]).await?;
                trimmed.commits = trimmed.commits.saturating_add(gone);
                trimmed.hibernated += gone;
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
