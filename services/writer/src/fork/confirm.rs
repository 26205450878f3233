//! Whether all that a fork reads through is still there once the fork was appended.
//!
//! A fork and an erasure of its parent are appended to two subjects, and neither append checks the other. So the parents are
//! read again after the fork's append and before its answer. A fork that was appended after a parent's tombstone is undone,
//! and never acknowledged. While an erasure of a parent is listed and has no tombstone, its eraser may have looked for forks
//! before this one was appended ([`crate::erasure`]): the answer waits.

use std::time::Duration;

use domain::bounds::FORK_DEPTH_MAX;
use domain::{
    Action, Command, ConversationId, ConversationKey, Expectation, ForkRule, ForkStep, Head,
    Status, TenantId, Timestamp, fork_step,
};
use tokio::time::{Instant, sleep};
use wire::proto::write::v1::CommitResult;
use wire::status::Problem;

use crate::base::Base;
use crate::intent::Intent;
use crate::{Writer, problem};

/// The longest that a fork, or another erasure, waits for an erasure that is entered and has no tombstone.
pub const DECISION_WAIT_MAX: Duration = Duration::from_secs(3);
/// How long it is from one look to the next meanwhile.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Whether a command that began a fork, or none, may be acknowledged.
#[derive(Debug)]
pub enum Confirmation {
    /// Each erasure of what the fork reads through sees the fork.
    Acknowledged,
    /// The fork was appended after what it reads through was erased.
    ParentErased {
        /// The erasure that undoes the fork; `None`: the fork stays, or is erased already.
        undo: Option<Box<Intent>>,
    },
}

/// Decides on the answer of a command that began a fork, once each erasure of what the fork reads through either came before
/// the fork was appended, or sees the fork.
///
/// # Errors
/// An erasure is not decided within [`DECISION_WAIT_MAX`], or the record does not answer: a retry with the same key comes here
/// again.
pub async fn confirm(
    writer: &Writer,
    intent: &Intent,
    result: &CommitResult,
) -> Result<Confirmation, Problem> {
    let Some(asked) = &intent.forks else {
        return Ok(Confirmation::Acknowledged);
    };
    let fork = writer.bases.load_certain(&intent.key).await?;
    let own = fork.head().and_then(|head| head.forked_from.as_ref());
    let first = own.unwrap_or(asked).conversation.clone();
    let Some(lost) = lost(writer, &intent.key.tenant, first).await? else {
        return Ok(Confirmation::Acknowledged);
    };
    let is_erased = fork
        .head()
        .is_some_and(|head| head.status == Status::Erased);
    let was_answered = if is_erased {
        tombstone(writer, &intent.key).await?.rule != ForkRule::Undo
    } else {
        lost.rule == ForkRule::Sever
    };
    if was_answered && is_retry_of_before(result, lost.at) {
        return Ok(Confirmation::Acknowledged);
    }
    // What was said in it since is somebody's: then it stays, as any fork does whose parent is erased.
    let unused = fork.base.as_deref();
    let unused = unused.filter(|base| !is_erased && base.head.version.0 == result.version);
    let undo = unused.map(|base| Box::new(undo(intent, base)));
    Ok(Confirmation::ParentErased { undo })
}

/// What a tombstone says. Of what a live fork reads through, only one that severs leaves open whether the fork was acknowledged.
struct Tombstone {
    at: Timestamp,
    rule: ForkRule,
}

/// Whether a retry gets the answer of a first try from before something else.
fn is_retry_of_before(result: &CommitResult, at: Timestamp) -> bool {
    let recorded_at = result
        .recorded_at
        .and_then(|at| wire::time::from_proto(at).ok());
    result.replayed && recorded_at.is_some_and(|recorded_at| recorded_at < at)
}

/// The first of a conversation and those behind it that is erased, as the leaders know it; `None`: all are there, and stay
/// there as long as the fork does, unless it is severed.
async fn lost(
    writer: &Writer,
    tenant: &TenantId,
    first: ConversationId,
) -> Result<Option<Tombstone>, Problem> {
    let deadline = Instant::now() + DECISION_WAIT_MAX;
    let mut next = Some(first);
    for _ in 0..=FORK_DEPTH_MAX {
        let Some(conversation) = next else {
            return Ok(None);
        };
        let key = ConversationKey {
            tenant: tenant.clone(),
            conversation,
        };
        let decided = decided(writer, &key, deadline).await?;
        if decided.step == ForkStep::Undo {
            return tombstone(writer, &key).await.map(Some);
        }
        let from = decided.head.and_then(|head| head.forked_from);
        next = from.map(|point| point.conversation);
    }
    Ok(None)
}

/// A conversation that a fork reads through, and what that means for the fork.
struct Decided {
    step: ForkStep,
    head: Option<Head>,
}

/// Waits until no erasure of the conversation is undecided: its entry is read first, since a tombstone is between the entry and
/// its removal.
async fn decided(
    writer: &Writer,
    key: &ConversationKey,
    deadline: Instant,
) -> Result<Decided, Problem> {
    loop {
        let entry = writer.record.pending_erasure(key).await;
        let entry = entry.map_err(problem::of_record)?;
        let loaded = writer.bases.load_certain(key).await?;
        let base = loaded.base.as_deref();
        let step = fork_step(
            entry.map(|entry| (entry.behind, entry.age(writer.now()))),
            base.map(|base| (base.sequence, base.head.status)),
        );
        if step != ForkStep::Wait {
            let head = base.map(|base| base.head.clone());
            return Ok(Decided { step, head });
        }
        if Instant::now() >= deadline {
            return Err(problem::parent_undecided());
        }
        sleep(LOOK_EVERY).await;
    }
}

/// What the tombstone of a conversation says; nothing of one that is not there at all.
async fn tombstone(writer: &Writer, key: &ConversationKey) -> Result<Tombstone, Problem> {
    let last = writer.record.last_from_leader(key).await;
    let Some(last) = last.map_err(problem::of_record)? else {
        return Ok(Tombstone {
            at: Timestamp(i64::MIN),
            rule: ForkRule::Refuse,
        });
    };
    let stored = last.open();
    let commit = stored.map_err(|corrupt| problem::of_corrupt(&corrupt))?;
    let commit = commit.opened.commit;
    let rule = commit.events.last().map(ForkRule::of_tombstone);
    Ok(Tombstone {
        at: commit.recorded_at,
        rule: rule.unwrap_or_default(),
    })
}

/// The erasure of a fork that nothing was said in.
fn undo(intent: &Intent, fork: &Base) -> Intent {
    Intent {
        access: intent.access.clone(),
        key: intent.key.clone(),
        has_key: false,
        key_field: intent.key_field,
        request_digest: intent.request_digest,
        command: Command {
            commit: Writer::new_commit_id(),
            agent: intent.command.agent.clone(),
            expectation: Expectation::Exact(fork.head.version),
            action: Action::Erase {
                expected: None,
                forks: ForkRule::Undo,
            },
        },
        forks: None,
    }
}
