//! Removal of sealed commits from the record.

use std::collections::BTreeMap;

use domain::{ConversationKey, Sequence, Status};
use event_log::{ArchivedSegment, Removal};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::object::Object;
use crate::segment::{ConversationEntry, Index};
use crate::{Archive, ArchiveError, CataloguedSegment};

/// Conversations whose commits are deleted at the same time.
const DELETED_CONVERSATIONS_IN_FLIGHT: usize = 4;

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

impl TrimResult {
    fn and(mut self, mut other: Self) -> Self {
        self.commits = self.commits.saturating_add(other.commits);
        self.waiting = self.waiting.saturating_add(other.waiting);
        self.hibernated = self.hibernated.saturating_add(other.hibernated);
        self.erased.append(&mut other.erased);
        self.kept.append(&mut other.kept);
        self.unsealed.append(&mut other.unsealed);
        self
    }
}

impl Archive {
    /// Removes the commits of a sealed segment from the record, sequence by sequence, and nothing else. A second call
    /// continues after a crash. The caller must have read the whole segment back: when it was sealed, or with
    /// [`Archive::load`].
    ///
    /// # Errors
    /// [`ArchiveError`]: call again.
    pub async fn trim(
        &self,
        segment: CataloguedSegment,
        last_commits: LastCommits,
        removal: Removal,
    ) -> Result<TrimResult, ArchiveError> {
        let object = self.object(&segment)?;
        let index = object.index().await?;
        let sealed = sequences(&object, &index).await?;
        let trim = Trim { archive: self, last_commits, removal };
        let each = stream::iter(&index.conversations)
            .map(|range| trim.one(range, sealed.get(&range.key).map_or(&[][..], Vec::as_slice)))
            .buffer_unordered(conversations_in_flight(removal));
        let sum = async |sum: TrimResult, one: TrimResult| Ok(sum.and(one));
        let trimmed = each.try_fold(TrimResult::default(), sum).await?;
        if trimmed.kept.is_empty() && trimmed.unsealed.is_empty() && trimmed.waiting == 0 {
            let sealed = ArchivedSegment { is_trimmed: true, ..segment.sealed.clone() };
            self.replace_sealed(segment, sealed).await?;
        }
        Ok(trimmed)
    }
}

/// How the commits of a segment are removed.
struct Trim<'a> {
    archive: &'a Archive,
    last_commits: LastCommits,
    removal: Removal,
}

impl Trim<'_> {
    /// Removes the commits of a conversation.
    async fn one(&self, range: &ConversationEntry, sequences: &[Sequence]) -> Result<TrimResult, ArchiveError> {
        let ConversationEntry { key, last, .. } = range;
        let mut trimmed = TrimResult::default();
        if range.is_hibernated && self.last_commits == LastCommits::Keep && sequences == [*last] {
            // Nothing is removed before the last commit.
            trimmed.waiting = 1;
            return Ok(trimmed);
        }
        let record = self.archive.record();
        let later = match record.last_from_leader(key).await? {
            // It was removed by an earlier call.
            None if range.is_hibernated => return Ok(trimmed),
            Some(commit) if commit.position.sequence == *last && range.is_hibernated => {
                return self.hibernate(range, sequences).await;
            }
            Some(commit) if commit.position.sequence > *last => commit,
            Some(_) | None => {
                trimmed.kept.push(key.clone());
                return Ok(trimmed);
            }
        };
        if matches!(later.open_head(), Ok(head) if head.status == Status::Erased) {
            trimmed.erased.push(key.clone());
        } else if self.has_commits_until(range).await? {
            trimmed.commits = record.trim(key, sequences, self.removal).await?;
            if self.has_commits_until(range).await? {
                trimmed.unsealed.push(key.clone());
            }
        }
        Ok(trimmed)
    }

    /// Removes the commits of a conversation that has no later one, the last commit last: without it, an older one would be the
    /// conversation's last commit in the record. An append meanwhile stays, because only sealed sequences are removed.
    async fn hibernate(&self, range: &ConversationEntry, sequences: &[Sequence]) -> Result<TrimResult, ArchiveError> {
        let ConversationEntry { key, last, .. } = range;
        let record = self.archive.record();
        let before = sequences.strip_suffix(&[*last]).unwrap_or_default();
        let mut trimmed =
            TrimResult { commits: record.trim(key, before, self.removal).await?, ..TrimResult::default() };
        if record.first_sequence(key).await? != Some(*last) {
            trimmed.unsealed.push(key.clone());
            return Ok(trimmed);
        }
        match self.last_commits {
            LastCommits::Keep => trimmed.waiting = 1,
            LastCommits::Remove => {
                trimmed.hibernated = record.trim(key, &[*last], self.removal).await?;
                trimmed.commits = trimmed.commits.saturating_add(trimmed.hibernated);
            }
        }
        Ok(trimmed)
    }

    /// Whether the record has a commit of a conversation that is not after its range.
    async fn has_commits_until(&self, range: &ConversationEntry) -> Result<bool, ArchiveError> {
        let first = self.archive.record().first_sequence(&range.key).await?;
        Ok(first.is_some_and(|first| first <= range.last))
    }
}

/// Overwriting is sequential: the server overwrites one message at a time, and other requests wait meanwhile.
fn conversations_in_flight(removal: Removal) -> usize {
    match removal {
        Removal::Overwrite => 1,
        Removal::Delete => DELETED_CONVERSATIONS_IN_FLIGHT,
    }
}

/// The sequences of a segment by conversation, in order.
async fn sequences(object: &Object, index: &Index) -> Result<BTreeMap<ConversationKey, Vec<Sequence>>, ArchiveError> {
    let mut sequences: BTreeMap<ConversationKey, Vec<Sequence>> = BTreeMap::new();
    for block in &index.blocks {
        for message in object.block(index, block).await? {
            let sequence = message.sequence();
            sequences.entry(message.key).or_default().push(sequence);
        }
    }
    Ok(sequences)
}
