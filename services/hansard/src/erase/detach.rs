//! Detaches a fork: copies its whole history to a new conversation, and erases the fork.
//!
//! The versions of a fork continue those of its parent, so the parent's events cannot be inserted before them: the copy is a
//! new conversation, named after the fork. The fork's tombstone is appended only at the version that was copied, so no newer
//! event is lost. An incomplete history is neither copied nor erased. An interrupted copy is resumed.

use anyhow::{anyhow, bail, ensure};
use archive::Archive;
use domain::{
    Actor, CommitId, ConversationId, ConversationKey, Event, EventTokens, Head, Label, Owner,
    RequestDigest, Sequence, Status, Timestamp, Version,
};
use event_log::{
    Append, AppendOutcome, ErasedCounts, Record, StoredCommit, TailBounds, TraceHeaders,
};
use runtime::clock::Clock;
use uuid::Uuid;
use wire::commit::{Draft, seal};

use super::copied_fact::{Origin, copied_fact};
use super::integrity::{check_integrity, incomplete};
use super::tombstone::{ACTOR, ATTEMPTS_MAX, append_tombstone, overwrite};

/// The suffix of a copy's id.
const SUFFIX: &str = "-detached";

/// The id of the copy of a detached fork.
pub(super) fn copy_of(fork: &ConversationId) -> anyhow::Result<ConversationId> {
    ConversationId::parse(format!("{fork}{SUFFIX}")).map_err(|violation| {
        anyhow!(
            "the fork {fork} cannot be detached: the id of its copy {}",
            violation.description
        )
    })
}

/// Copies a fork, whose ancestors must not be erased, and erases it.
pub(super) async fn detach(
    archive: &Archive,
    fork: &ConversationKey,
    mark: RequestDigest,
) -> anyhow::Result<ErasedCounts> {
    let copy = ConversationKey {
        tenant: fork.tenant.clone(),
        conversation: copy_of(&fork.conversation)?,
    };
    let record = archive.record();
    for _ in 0..ATTEMPTS_MAX {
        let version = copy_history(archive, fork, &copy, mark).await?;
        if append_tombstone(record, fork, mark, Some(version)).await? {
            return overwrite(record, fork).await;
        }
    }
    bail!(
        "the fork {} keeps changing: run the same command again",
        fork.conversation
    )
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
    let record = archive.record();
    let head = head_of(record, fork).await?;
    let Some(owner) = head.owner.clone() else {
        // Another process has erased it meanwhile.
        return Ok(head.version);
    };
    let mut copy = DetachedCopy::open(archive, copy, owner, mark).await?;
    let segments = segments(record, fork, &head).await?;
    // All segments are checked before the first append: the next run would treat a partial copy as complete.
    for segment in segments.iter().filter(|one| one.last > copy.version()) {
        check_integrity(archive, &segment.key, segment.last).await?;
    }
    for segment in &segments {
        copy.copy_segment(segment).await?;
    }
    Ok(head.version)
}

async fn head_of(record: &Record, key: &ConversationKey) -> anyhow::Result<Head> {
    let last = record.last_from_leader(key).await?;
    let last =
        last.ok_or_else(|| anyhow!("the conversation {} no longer exists", key.conversation))?;
    Ok(last.open_head()?)
}

/// The ancestors of a fork, oldest first, and the fork itself.
async fn segments(
    record: &Record,
    fork: &ConversationKey,
    head: &Head,
) -> anyhow::Result<Vec<HistorySegment>> {
    let mut segments = vec![HistorySegment {
        key: fork.clone(),
        last: head.version,
        origin: Origin::Own,
    }];
    let mut next = head.forked_from.clone();
    while let Some(point) = next {
        let key = ConversationKey {
            tenant: fork.tenant.clone(),
            conversation: point.conversation,
        };
        let ancestor = head_of(record, &key).await?;
        let parent = &key.conversation;
        ensure!(
            ancestor.status != Status::Erased,
            "the fork {} started after the erasure of {parent}: erase it with --forks erase",
            fork.conversation
        );
        segments.push(HistorySegment {
            key,
            last: point.version,
            origin: Origin::Shared,
        });
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
    actor: Actor,
    base: Option<(Head, Sequence)>,
}

impl<'a> DetachedCopy<'a> {
    async fn open(
        archive: &'a Archive,
        key: &'a ConversationKey,
        owner: Owner,
        mark: RequestDigest,
    ) -> anyhow::Result<Self> {
        let last = archive.record().last_from_leader(key).await?;
        let base = last.map(|last| {
            Ok::<_, event_log::CorruptMessage>((last.open_head()?, last.position.sequence))
        });
        let base = base.transpose()?;
        let is_own_copy = base.as_ref().is_none_or(|(head, _)| {
            head.recent
                .last()
                .is_some_and(|commit| commit.request_digest == mark)
        });
        ensure!(
            is_own_copy,
            "the conversation {} exists already and is not a copy of this erasure",
            key.conversation
        );
        let actor = Label::parse(ACTOR).map_err(|violation| anyhow!(violation.description))?;
        Ok(Self {
            archive,
            key,
            owner,
            mark,
            actor: Actor(actor),
            base,
        })
    }

    fn version(&self) -> Version {
        self.base
            .as_ref()
            .map_or(Version::ZERO, |(head, _)| head.version)
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

    async fn copy_commit(
        &mut self,
        stored: &StoredCommit,
        segment: &HistorySegment,
    ) -> anyhow::Result<()> {
        let commit = &stored.opened.commit;
        let copied_to = self.version();
        let mut through = self
            .base
            .as_ref()
            .map_or(0, |(head, _)| head.totals.context_tokens);
        let (mut version, mut events) = (commit.first_version, Vec::new());
        for event in &commit.events {
            if version > copied_to && version <= segment.last {
                // Commits may have been archived, and so trimmed from the record, after the check.
                let follows = !events.is_empty() || version == copied_to.next();
                ensure!(follows, incomplete(&segment.key));
                let origin = if version == Version(1) {
                    Origin::First
                } else {
                    segment.origin
                };
                let mut copy = Event {
                    occurred_at: event.occurred_at.or(Some(commit.recorded_at)),
                    fact: copied_fact(event, origin, &self.owner),
                    ..event.clone()
                };
                through = copy.context_tokens().saturating_add(through);
                copy.tokens = EventTokens {
                    through,
                    ..copy.tokens
                };
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
        let id = CommitId(Uuid::now_v7());
        let now = Timestamp(Clock::System.now_nanos());
        let before = self.base.as_ref();
        let draft = Draft {
            tenant: &self.key.tenant,
            conversation: &self.key.conversation,
            id,
            request_digest: self.mark,
            recorded_at: before.map_or(now, |(head, _)| now.max(head.recorded_at)),
            actor: &self.actor,
            events,
        };
        let sealed = seal(&draft, before.map(|(head, sequence)| (head, *sequence)))
            .map_err(|violation| anyhow!(violation.description))?;
        let append = Append {
            commit: id,
            message: sealed.message,
            expected: before.map(|(_, sequence)| *sequence),
            trace: TraceHeaders::default(),
        };
        match self.archive.record().append(self.key, append).await? {
            AppendOutcome::Committed { sequence } => {
                self.base = Some((sealed.head, sequence));
                Ok(())
            }
            AppendOutcome::Duplicate { .. } | AppendOutcome::Superseded { .. } => {
                bail!(
                    "another process writes to the conversation {}: run the same command again",
                    self.key.conversation
                )
            }
        }
    }
}
