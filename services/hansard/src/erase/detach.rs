//! Detaching a fork: its whole history becomes a conversation of its own, and the fork is erased.
//!
//! A fork's versions follow on those of its parent, so the parent's events cannot be put before it: the copy is a new
//! conversation, named after the fork. The fork's tombstone is appended only behind the very version that was copied, so
//! nothing that is said meanwhile is lost. Nothing is copied of a history that is not whole, and nothing erased. A copy that was cut short is gone on with.

use anyhow::{anyhow, bail, ensure};
use archive::Archive;
use domain::{
    Actor, CommitId, ConversationId, ConversationKey, Event, EventTokens, Head, Label, Owner,
    RequestDigest, Sequence, Status, Timestamp, Version,
};
use event_log::{
    Append, AppendOutcome, Overwritten, Record, StoredCommit, TailBounds, TraceHeaders,
};
use runtime::clock::Clock;
use uuid::Uuid;
use wire::commit::{Draft, seal};

use super::past::{Origin, copied};
use super::tombstone::{ACTOR, TRIES_MAX, remove, stands};
use super::whole::{check_whole, cut_short};

/// What the id of a copy ends in.
const SUFFIX: &str = "-detached";

/// The conversation that a detached fork lives on as.
///
/// # Errors
/// The fork's id is too long.
pub(super) fn copy_of(fork: &ConversationId) -> anyhow::Result<ConversationId> {
    ConversationId::parse(format!("{fork}{SUFFIX}")).map_err(|violation| {
        anyhow!(
            "{fork} cannot be detached: its copy's id {}",
            violation.description
        )
    })
}

/// Copies a fork, whose past must stand, and erases it.
pub(super) async fn detach(
    archive: &Archive,
    fork: &ConversationKey,
    mark: RequestDigest,
) -> anyhow::Result<Overwritten> {
    let copy = ConversationKey {
        tenant: fork.tenant.clone(),
        conversation: copy_of(&fork.conversation)?,
    };
    let record = archive.record();
    for _ in 0..TRIES_MAX {
        let version = follow(archive, fork, &copy, mark).await?;
        if stands(record, fork, mark, Some(version)).await? {
            return remove(record, fork).await;
        }
    }
    bail!("fork {} keeps changing: run again", fork.conversation)
}

/// A stretch of a fork's history that one conversation holds.
struct Stretch {
    key: ConversationKey,
    last: Version,
    origin: Origin,
}

/// Brings the copy up to the fork as it stands; the version that it is at.
async fn follow(
    archive: &Archive,
    fork: &ConversationKey,
    copy: &ConversationKey,
    mark: RequestDigest,
) -> anyhow::Result<Version> {
    let record = archive.record();
    let head = head_of(record, fork).await?;
    let Some(owner) = head.owner.clone() else {
        // Erased meanwhile by somebody else.
        return Ok(head.version);
    };
    let mut copy = Copy::open(archive, copy, owner, mark).await?;
    let stretches = stretches(record, fork, &head).await?;
    // All of it before the first append: a copy of less than all would be taken for the whole by the next run.
    for stretch in stretches.iter().filter(|one| one.last > copy.version()) {
        check_whole(archive, &stretch.key, stretch.last).await?;
    }
    for stretch in &stretches {
        copy.take(stretch).await?;
    }
    Ok(head.version)
}

async fn head_of(record: &Record, key: &ConversationKey) -> anyhow::Result<Head> {
    let last = record.last_from_leader(key).await?;
    let last = last.ok_or_else(|| anyhow!("conversation {} is gone", key.conversation))?;
    Ok(last.open_head()?)
}

/// The conversations behind a fork and itself, the oldest first.
async fn stretches(
    record: &Record,
    fork: &ConversationKey,
    head: &Head,
) -> anyhow::Result<Vec<Stretch>> {
    let mut stretches = vec![Stretch {
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
        let behind = head_of(record, &key).await?;
        let parent = &key.conversation;
        ensure!(
            behind.status != Status::Erased,
            "fork {} was begun behind the erasure of {parent}: let it go too with --forks erase",
            fork.conversation
        );
        stretches.push(Stretch {
            key,
            last: point.version,
            origin: Origin::Shared,
        });
        next = behind.forked_from;
    }
    stretches.reverse();
    Ok(stretches)
}

/// A copy under way.
struct Copy<'a> {
    archive: &'a Archive,
    key: &'a ConversationKey,
    owner: Owner,
    mark: RequestDigest,
    actor: Actor,
    base: Option<(Head, Sequence)>,
}

impl<'a> Copy<'a> {
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
        let is_ours = base.as_ref().is_none_or(|(head, _)| {
            head.recent
                .last()
                .is_some_and(|commit| commit.request_digest == mark)
        });
        ensure!(
            is_ours,
            "conversation {} is there already, and is no copy of this job's",
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

    /// Copies what is missing of a stretch, a commit for a commit.
    async fn take(&mut self, stretch: &Stretch) -> anyhow::Result<()> {
        let mut commits = self.archive.commits(&stretch.key, Sequence(0)).await?;
        while self.version() < stretch.last
            && let Some(page) = commits.next(TailBounds::default()).await?
        {
            for message in &page {
                self.take_commit(&message.open()?, stretch).await?;
            }
        }
        ensure!(self.version() >= stretch.last, cut_short(&stretch.key));
        Ok(())
    }

    async fn take_commit(
        &mut self,
        stored: &StoredCommit,
        stretch: &Stretch,
    ) -> anyhow::Result<()> {
        let commit = &stored.opened.commit;
        let copied_to = self.version();
        let mut through = self
            .base
            .as_ref()
            .map_or(0, |(head, _)| head.totals.context_tokens);
        let (mut version, mut events) = (commit.first_version, Vec::new());
        for event in &commit.events {
            if version > copied_to && version <= stretch.last {
                // What was checked can have been archived since, and so have left the record unread.
                let follows = !events.is_empty() || version == copied_to.next();
                ensure!(follows, cut_short(&stretch.key));
                let origin = if version == Version(1) {
                    Origin::First
                } else {
                    stretch.origin
                };
                let mut copy = Event {
                    occurred_at: event.occurred_at.or(Some(commit.recorded_at)),
                    fact: copied(event, origin, &self.owner),
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
                    "somebody else writes to {}: run again",
                    self.key.conversation
                )
            }
        }
    }
}
