//! Detaches a fork: copies its whole history to a new conversation, and erases the fork.
//!
//! The versions of a fork continue those of its parent, so the parent's events cannot be inserted before them: the copy is a
//! new conversation, named after the fork. The fork's tombstone is appended only at the version that was copied, so no newer
//! event is lost. An incomplete history is neither copied nor erased. An interrupted copy is resumed.

use anyhow::{anyhow, bail, ensure};
use archive::{Archive, LastCommit};
use domain::{
    CommitId, ConversationId, ConversationKey, Event, EventTokens, Head, Owner, RequestDigest, Sequence, Status,
    Version,
};
use event_log::{AppendOutcome, ErasedCounts, StoredCommit, TailBounds};
use uuid::Uuid;

use super::copied_fact::{Origin, copied_fact};
use super::integrity::{check_integrity, incomplete};
use super::tombstone::{ATTEMPTS_MAX, append_tombstone, overwrite, seal_commit};
use crate::ids::key;

/// The suffix of a copy's id.
const SUFFIX: &str = "-detached";

/// The id of the copy of a detached fork.
pub(super) fn copy_of(fork: &ConversationId) -> anyhow::Result<ConversationId> {
    ConversationId::parse(format!("{fork}{SUFFIX}")).map_err(|violation| {
        anyhow!("the fork {fork} cannot be detached: the id of its copy {}", violation.description)
    })
}

/// Copies a fork, whose ancestors must not be erased, and erases it.
pub(super) async fn detach(
    archive: &Archive,
    fork: &ConversationKey,
    mark: RequestDigest,
) -> anyhow::Result<ErasedCounts> {
    let copy = key(&fork.tenant, &copy_of(&fork.conversation)?);
    let record = archive.record();
    for _ in 0..ATTEMPTS_MAX {
        let version = copy_history(archive, fork, &copy, mark).await?;
        if append_tombstone(archive, fork, mark, Some(version)).await? {
            return overwrite(record, fork).await;
        }
    }
    let id = &fork.conversation;
    bail!("the fork {id} keeps changing: run the same command again")
}

/// The part of a fork's history that is recorded in one conversation.
struct HistorySegment {
    key: ConversationKey,
    last: Version,
    origin: Origin,
}

/// Copies what is missing of the fork's history. Returns the version of the fork.
async fn copy_history(
    archive: &Archive,
    fork: &ConversationKey,
    copy: &ConversationKey,
    mark: RequestDigest,
) -> anyhow::Result<Version> {
    let head = head_of(archive, fork).await?;
    let Some(owner) = head.owner.clone() else {
        // Another process has erased it meanwhile.
        return Ok(head.version);
    };
    let mut copy = DetachedCopy::open(archive, copy, owner, mark).await?;
    let segments = segments(archive, fork, &head).await?;
    // All segments are checked before the first append: the next run would treat a partial copy as complete.
    for segment in segments.iter().filter(|one| one.last > copy.version()) {
        check_integrity(archive, &segment.key, segment.last).await?;
    }
    for segment in &segments {
        copy.copy_segment(segment).await?;
    }
    Ok(head.version)
}

async fn head_of(archive: &Archive, key: &ConversationKey) -> anyhow::Result<Head> {
    let last = archive
        .last_commit(key)
        .await?
        .ok_or_else(|| anyhow!("the conversation {} no longer exists", key.conversation))?;
    Ok(last.open_head()?)
}

/// The ancestors of a fork, oldest first, and the fork itself.
async fn segments(archive: &Archive, fork: &ConversationKey, head: &Head) -> anyhow::Result<Vec<HistorySegment>> {
    let mut segments = vec![HistorySegment { key: fork.clone(), last: head.version, origin: Origin::Own }];
    let mut next = head.forked_from.clone();
    while let Some(point) = next {
        let key = key(&fork.tenant, &point.conversation);
        let ancestor = head_of(archive, &key).await?;
        let parent = &key.conversation;
        ensure!(
            ancestor.status != Status::Erased,
            "the fork {} started after the erasure of {parent}: erase it with --forks erase",
            fork.conversation
        );
        segments.push(HistorySegment { key, last: point.version, origin: Origin::Shared });
        next = ancestor.forked_from;
    }
    segments.reverse();
    Ok(segments)
}

/// The copy of a fork.
struct DetachedCopy<'a> {
    archive: &'a Archive,
    key: &'a ConversationKey,
    owner: Owner,
    mark: RequestDigest,
    base: Option<(Head, Sequence)>,
    /// The last commit of an earlier run, until another one follows it.
    earlier: Option<LastCommit>,
}

impl<'a> DetachedCopy<'a> {
    async fn open(
        archive: &'a Archive,
        key: &'a ConversationKey,
        owner: Owner,
        mark: RequestDigest,
    ) -> anyhow::Result<Self> {
        let earlier = archive.last_from_leader(key).await?;
        let base = match &earlier {
            Some(LastCommit { message, .. }) => Some((message.open_head()?, message.position.sequence)),
            None => None,
        };
        let last_mark = |head: &Head| head.recent.last().map(|commit| commit.request_digest);
        let is_own_copy = base.as_ref().is_none_or(|(head, _)| last_mark(head) == Some(mark));
        ensure!(is_own_copy, "the conversation {} exists already and is not a copy of this erasure", key.conversation);
        Ok(Self { archive, key, owner, mark, base, earlier })
    }

    fn version(&self) -> Version {
        let base = self.base.as_ref();
        base.map_or(Version::ZERO, |(head, _)| head.version)
    }

    /// Copies the missing commits of a segment.
    async fn copy_segment(&mut self, segment: &HistorySegment) -> anyhow::Result<()> {
        let mut commits = self.archive.commits(&segment.key, Sequence(0)).await?;
        while self.version() < segment.last
            && let Some(page) = commits.next(TailBounds::default()).await?
        {
            for message in &page {
                self.copy_commit(&message.open()?, segment).await?;
            }
        }
        ensure!(self.version() >= segment.last, incomplete(&segment.key));
        Ok(())
    }

    async fn copy_commit(&mut self, stored: &StoredCommit, segment: &HistorySegment) -> anyhow::Result<()> {
        let commit = &stored.opened.commit;
        let copied_to = self.version();
        let head = self.base.as_ref().map(|(head, _)| head);
        let mut through = head.map_or(0, |head| head.totals.context_tokens);
        let (mut version, mut events) = (commit.first_version, Vec::new());
        for event in &commit.events {
            if version > copied_to && version <= segment.last {
                // Commits may have been archived, and so trimmed from the record, after the check.
                let follows = !events.is_empty() || version == copied_to.next();
                ensure!(follows, incomplete(&segment.key));
                let origin = if version == Version(1) { Origin::First } else { segment.origin };
                let mut copy = Event {
                    occurred_at: event.occurred_at.or(Some(commit.recorded_at)),
                    fact: copied_fact(event, origin, &self.owner),
                    ..event.clone()
                };
                through = copy.context_tokens().saturating_add(through);
                copy.tokens = EventTokens { through, ..copy.tokens };
                events.push(copy);
            }
            version = version.next();
        }
        if events.is_empty() {
            return Ok(());
        }
        self.append(&events).await
    }

    async fn append(&mut self, events: &[Event]) -> anyhow::Result<()> {
        let base = self.base.as_ref().map(|(head, sequence)| (head, *sequence));
        let id = CommitId(Uuid::now_v7());
        let (append, head) = seal_commit(self.key, base, id, self.mark, events)?;
        let append = match self.earlier.take() {
            Some(earlier) => earlier.followed_by(append),
            None => append,
        };
        match self.archive.record().append(self.key, append).await? {
            AppendOutcome::Committed { sequence } => {
                self.base = Some((head, sequence));
                Ok(())
            }
            AppendOutcome::Duplicate { .. } | AppendOutcome::Superseded { .. } => {
                let id = &self.key.conversation;
                bail!("another process writes to the conversation {id}: run the same command again")
            }
        }
    }
}
