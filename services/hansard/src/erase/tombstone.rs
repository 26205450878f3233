//! The last commit of a conversation, and the end of what was before it.

use std::time::Duration;

use anyhow::{anyhow, bail};
use domain::{
    Action, Actor, Command, CommitId, ConversationKey, Decision, Expectation, ForkRule, Label,
    RequestDigest, Status, Timestamp, Version, decide,
};
use event_log::{Append, AppendOutcome, Overwritten, Record, TraceHeaders};
use runtime::clock::Clock;
use uuid::Uuid;
use wire::commit::{Draft, seal};

/// Who erases, in the record.
pub(super) const ACTOR: &str = "hansard erase";
/// How often a tombstone is tried while others append.
pub(super) const TRIES_MAX: u32 = 64;
/// How much longer each try waits than the one before.
const WAIT_STEP: Duration = Duration::from_millis(1);

/// Erases a conversation; one that is not there, or erased, is left so but for what an earlier job left of it.
pub(super) async fn erase(
    record: &Record,
    key: &ConversationKey,
    mark: RequestDigest,
) -> anyhow::Result<Overwritten> {
    for attempt in 0..TRIES_MAX {
        if stands(record, key, mark, None).await? {
            return remove(record, key).await;
        }
        tokio::time::sleep(WAIT_STEP.saturating_mul(attempt)).await;
    }
    bail!(
        "conversation {} keeps changing: run again",
        key.conversation
    )
}

/// Overwrites all that is behind a tombstone, and takes the erasure off the list of those in progress.
pub(super) async fn remove(record: &Record, key: &ConversationKey) -> anyhow::Result<Overwritten> {
    // A record that no writer of this version has opened has no such list.
    let entry = match record.count_pending_erasures().await? {
        0 => None,
        _ => record.pending_erasure(key).await?,
    };
    let overwritten = record.erase_behind_tombstone(key).await?;
    if let Some(entry) = entry {
        record.end_erasure(&entry).await?;
    }
    Ok(overwritten)
}

/// Appends the tombstone behind a version, or any, unless it stands; `false`: somebody else was faster.
pub(super) async fn stands(
    record: &Record,
    key: &ConversationKey,
    mark: RequestDigest,
    behind: Option<Version>,
) -> anyhow::Result<bool> {
    let Some(last) = record.last_from_leader(key).await? else {
        return Ok(true);
    };
    let (head, sequence) = (last.open_head()?, last.position.sequence);
    if head.status == Status::Erased {
        return Ok(true);
    }
    if behind.is_some_and(|version| version != head.version) {
        return Ok(false);
    }
    let command = Command {
        commit: CommitId(Uuid::now_v7()),
        agent: head.agent.clone(),
        expectation: Expectation::Any,
        action: Action::Erase {
            expected: None,
            // The job has looked for them in the record itself.
            forks: ForkRule::Refuse,
        },
    };
    let Decision::Commit(events) = decide(Some(&head), &command)? else {
        return Ok(true);
    };
    let actor = Label::parse(ACTOR).map_err(|violation| anyhow!(violation.description))?;
    let draft = Draft {
        tenant: &key.tenant,
        conversation: &key.conversation,
        id: command.commit,
        request_digest: mark,
        recorded_at: Timestamp(Clock::System.now_nanos()).max(head.recorded_at),
        actor: &Actor(actor),
        events: &events,
    };
    let sealed = seal(&draft, Some((&head, sequence)));
    let append = Append {
        commit: command.commit,
        message: sealed
            .map_err(|violation| anyhow!(violation.description))?
            .message,
        expected: Some(sequence),
        trace: TraceHeaders::default(),
    };
    // A writer finishes what this process leaves, should it end now.
    let now = Timestamp(Clock::System.now_nanos());
    record
        .begin_erasure(key, sequence, Uuid::now_v7(), now)
        .await?;
    let outcome = record.append(key, append).await?;
    Ok(!matches!(outcome, AppendOutcome::Superseded { .. }))
}
