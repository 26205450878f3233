//! Appends the tombstone of a conversation and overwrites everything before it.

use std::time::Duration;

use anyhow::{anyhow, bail};
use archive::Archive;
use domain::{
    Action, Actor, Command, CommitId, ConversationKey, Decision, Event, Expectation, ForkRule, Head, Label,
    RequestDigest, Sequence, Status, Timestamp, decide,
};
use event_log::{Append, AppendOutcome, ErasedCounts, Record, TraceHeaders};
use uuid::Uuid;
use wire::commit::{Draft, seal};

use crate::view::when::record_time;

/// The actor of tombstones.
const ACTOR: &str = "hansard erase";
/// The maximum number of attempts while other processes append.
const ATTEMPTS_MAX: u32 = 64;
/// The increase of the wait between two attempts.
const WAIT_STEP: Duration = Duration::from_millis(1);

/// Erases a conversation. If it is already erased, completes the erasure.
pub(super) async fn erase(
    archive: &Archive,
    key: &ConversationKey,
    mark: RequestDigest,
) -> anyhow::Result<ErasedCounts> {
    for attempt in 0..ATTEMPTS_MAX {
        if append_tombstone(archive, key, mark).await? {
            return overwrite(archive.record(), key).await;
        }
        tokio::time::sleep(WAIT_STEP.saturating_mul(attempt)).await;
    }
    let id = &key.conversation;
    bail!("the conversation {id} keeps changing: run the same command again")
}

/// Overwrites everything before a tombstone, and removes the erasure from the list of erasures in progress.
pub(super) async fn overwrite(record: &Record, key: &ConversationKey) -> anyhow::Result<ErasedCounts> {
    // The list does not exist until a writer of this version has opened the record.
    let entry = match record.count_pending_erasures().await? {
        0 => None,
        _ => record.pending_erasure(key).await?,
    };
    let overwritten = record.erase_conversation(key).await?;
    if let Some(entry) = entry {
        record.end_erasure(&entry).await?;
    }
    Ok(overwritten)
}

/// Appends the tombstone. Returns `false` after a lost race, and `true` if the tombstone exists already.
async fn append_tombstone(archive: &Archive, key: &ConversationKey, mark: RequestDigest) -> anyhow::Result<bool> {
    let record = archive.record();
    let Some(last) = archive.last_from_leader(key).await? else {
        return Ok(true);
    };
    let (head, sequence) = (last.message.open_head()?, last.message.position.sequence);
    if head.status == Status::Erased {
        return Ok(true);
    }
    let command = Command {
        commit: CommitId(Uuid::now_v7()),
        agent: head.agent.clone(),
        expectation: Expectation::Any,
        action: Action::Erase {
            expected: None,
            // The plan has already applied the fork rule.
            forks: ForkRule::Refuse,
        },
    };
    let Decision::Commit(events) = decide(Some(&head), &command)? else {
        return Ok(true);
    };
    let now = record_time(record);
    let tombstone = Tombstone { id: command.commit, mark, recorded_at: now.max(head.recorded_at), events: &events };
    let append = seal_tombstone(key, (&head, sequence), &tombstone)?;
    let append = last.followed_by(append);
    // If this process ends now, a writer completes the erasure.
    let erasure = Uuid::now_v7();
    record.begin_erasure(key, sequence, erasure, now).await?;
    let outcome = record.append(key, append).await?;
    Ok(!matches!(outcome, AppendOutcome::Superseded { .. }))
}

/// The commit of a tombstone.
struct Tombstone<'a> {
    id: CommitId,
    mark: RequestDigest,
    recorded_at: Timestamp,
    events: &'a [Event],
}

/// Seals a tombstone. `base` is the head and the sequence of the commit before it.
fn seal_tombstone(key: &ConversationKey, base: (&Head, Sequence), tombstone: &Tombstone<'_>) -> anyhow::Result<Append> {
    let actor = Label::parse(ACTOR).map_err(|violation| anyhow!(violation.description))?;
    let draft = Draft {
        tenant: &key.tenant,
        conversation: &key.conversation,
        id: tombstone.id,
        request_digest: tombstone.mark,
        recorded_at: tombstone.recorded_at,
        actor: &Actor(actor),
        events: tombstone.events,
    };
    let sealed = seal(&draft, Some(base)).map_err(|violation| anyhow!(violation.description))?;
    Ok(Append {
        commit: tombstone.id,
        message: sealed.message,
        expected: Some(base.1),
        hibernated_in: None,
        trace: TraceHeaders::default(),
    })
}
