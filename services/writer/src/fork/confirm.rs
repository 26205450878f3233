//! Checks that all ancestors of a fork still exist after the append of the fork.
//!
//! A fork and an erasure of its parent are appended to two subjects, and neither append checks the other one. The ancestors
//! are therefore read again after the append of the fork and before its response. A fork that was appended after the
//! tombstone of an ancestor is undone, and never acknowledged. If an erasure of an ancestor is pending and has no tombstone,
//! its check for forks ([`crate::erasure`]) may have been before this append: the response waits.

use std::time::Duration;

use domain::bounds::FORK_DEPTH_MAX;
use domain::{
    Action, Command, ConversationId, ConversationKey, Expectation, ForkRule, ForkStep, Head, Status, TenantId,
    Timestamp, fork_step,
};
use tokio::time::{Instant, sleep};
use wire::proto::write::v1::CommitResult;
use wire::status::Problem;

use crate::{Intent, StoredHead, Writer, problem};

/// Maximum wait of a fork or another erasure for a pending erasure without a tombstone.
pub(crate) const DECISION_WAIT_MAX: Duration = Duration::from_secs(3);
/// The interval of the reads during this wait.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Whether a command may be acknowledged.
#[derive(Debug)]
pub(crate) enum Confirmation {
    /// It created no fork, or every erasure of an ancestor finds the fork.
    Acknowledged,
    /// The fork was appended after the erasure of an ancestor.
    ParentErased {
        /// The erasure that undoes the fork; `None`: the fork remains, or is already erased.
        undo: Option<Box<Intent>>,
    },
}

/// Decides on the response to a command that created a fork, when each erasure of an ancestor was either before the append of
/// the fork, or finds the fork.
/// Errors: an erasure is not decided within [`DECISION_WAIT_MAX`], or the record does not answer. A retry with the same key
/// checks again.
pub(crate) async fn confirm(writer: &Writer, intent: &Intent, result: &CommitResult) -> Result<Confirmation, Problem> {
    let Some(requested) = &intent.fork_from else {
        return Ok(Confirmation::Acknowledged);
    };
    let fork = writer.heads.load_from_leader(&intent.key).await?;
    let own = fork.head().and_then(|head| head.forked_from.as_ref());
    let first = own.unwrap_or(requested).conversation.clone();
    let Some(erased) = find_erased(writer, &intent.key.tenant, first).await? else {
        return Ok(Confirmation::Acknowledged);
    };
    let is_erased = fork.head().is_some_and(|head| head.status == Status::Erased);
    let own_rule = if is_erased { Some(tombstone(writer, &intent.key).await?.rule) } else { None };
    if was_maybe_acknowledged(own_rule, erased.rule) && is_replay_from_before(result, erased.at) {
        return Ok(Confirmation::Acknowledged);
    }
    let unused = fork.stored.as_deref().filter(|stored| is_unused(&stored.head, result.version));
    let undo = unused.map(|stored| Box::new(undo(intent, stored)));
    Ok(Confirmation::ParentErased { undo })
}

/// The tombstone of a conversation. A live fork may have been acknowledged before the tombstone of an ancestor only if that
/// erasure severs forks.
struct Tombstone {
    at: Timestamp,
    rule: ForkRule,
}

/// Whether a fork may have been acknowledged before the erasure of its ancestor. `own`: the rule of the tombstone of the fork, if
/// it is erased itself; `ancestor`: that of its ancestor.
fn was_maybe_acknowledged(own: Option<ForkRule>, ancestor: ForkRule) -> bool {
    match own {
        Some(own) => own != ForkRule::Undo,
        None => ancestor == ForkRule::Sever,
    }
}

/// Whether a fork has no events after its creation. A fork with later events remains, like every fork whose parent is erased.
fn is_unused(fork: &Head, created_through: u64) -> bool {
    fork.status != Status::Erased && fork.version.0 == created_through
}

/// Whether the result is the replay of a commit that was recorded before `at`.
fn is_replay_from_before(result: &CommitResult, at: Timestamp) -> bool {
    let recorded_at = result.recorded_at.and_then(|at| wire::time::from_proto(at).ok());
    result.replayed && recorded_at.is_some_and(|recorded_at| recorded_at < at)
}

/// The tombstone of the first erased conversation among `first` and its ancestors, read from the leaders. `None`: all exist,
/// and cannot be erased while the fork exists, unless the fork is severed.
async fn find_erased(writer: &Writer, tenant: &TenantId, first: ConversationId) -> Result<Option<Tombstone>, Problem> {
    let deadline = Instant::now() + DECISION_WAIT_MAX;
    let mut next = Some(first);
    for _ in 0..=FORK_DEPTH_MAX {
        let Some(conversation) = next else {
            return Ok(None);
        };
        let key = ConversationKey { tenant: tenant.clone(), conversation };
        let ancestor = await_decision(writer, &key, deadline).await?;
        if ancestor.step == ForkStep::Undo {
            return tombstone(writer, &key).await.map(Some);
        }
        let from = ancestor.head.and_then(|head| head.forked_from);
        next = from.map(|point| point.conversation);
    }
    Ok(None)
}

/// The decision about an ancestor of a fork.
struct Ancestor {
    step: ForkStep,
    head: Option<Head>,
}

/// Waits until no erasure of the conversation is undecided. The entry is read before the head: the tombstone is appended after
/// the entry is written and before it is removed.
async fn await_decision(writer: &Writer, key: &ConversationKey, deadline: Instant) -> Result<Ancestor, Problem> {
    loop {
        let entry = writer.record.pending_erasure(key).await.map_err(problem::from_record)?;
        let loaded = writer.heads.load_from_leader(key).await?;
        let stored = loaded.stored.as_deref();
        // The entry has a time of the server.
        let now = writer.record.server_time(key).await.map_err(problem::from_record)?.earliest;
        let step = fork_step(
            entry.map(|entry| (entry.behind, entry.age(now))),
            stored.map(|stored| (stored.sequence, stored.head.status)),
        );
        if step != ForkStep::Wait {
            let head = stored.map(|stored| stored.head.clone());
            return Ok(Ancestor { step, head });
        }
        if Instant::now() >= deadline {
            let undecided = "an erasure of the parent of the fork is not decided yet";
            return Err(problem::not_complete(undecided));
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// The tombstone of a conversation; a default for a conversation that does not exist.
async fn tombstone(writer: &Writer, key: &ConversationKey) -> Result<Tombstone, Problem> {
    let last = writer.archive.last_commit(key).await;
    let Some(last) = last.map_err(problem::from_record)? else {
        return Ok(Tombstone { at: Timestamp(i64::MIN), rule: ForkRule::Refuse });
    };
    let commit = last.open().map_err(problem::from_corrupt)?.opened.commit;
    let rule = commit.events.last().map(ForkRule::from_tombstone);
    Ok(Tombstone { at: commit.recorded_at, rule: rule.unwrap_or_default() })
}

/// The erasure of a fork without later events.
fn undo(intent: &Intent, fork: &StoredHead) -> Intent {
    Intent {
        access: intent.access.clone(),
        key: intent.key.clone(),
        has_key: false,
        key_field: intent.key_field,
        request_digest: intent.request_digest,
        attempt: None,
        command: Command {
            commit: Writer::new_commit_id(),
            agent: intent.command.agent.clone(),
            expectation: Expectation::Exact(fork.head.version),
            action: Action::Erase { expected: None, forks: ForkRule::Undo },
        },
        fork_from: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_of_severed_ancestors_and_erased_forks_may_have_been_acknowledged() {
        let check = |own: Option<ForkRule>, ancestor: ForkRule, expected: bool| {
            assert_eq!(was_maybe_acknowledged(own, ancestor), expected, "{own:?} {ancestor:?}");
        };
        check(None, ForkRule::Refuse, false);
        check(None, ForkRule::Undo, false);
        check(None, ForkRule::Sever, true);
        for ancestor in [ForkRule::Refuse, ForkRule::Sever, ForkRule::Undo] {
            check(Some(ForkRule::Undo), ancestor, false);
            check(Some(ForkRule::Refuse), ancestor, true);
            check(Some(ForkRule::Sever), ancestor, true);
        }
    }

    #[test]
    fn only_a_replay_from_before_an_erasure_is_from_before() {
        let check = |replayed: bool, recorded_at: Option<i64>, expected: bool| {
            let recorded_at = recorded_at.map(|nanos| wire::time::to_proto(Timestamp(nanos)));
            let result = CommitResult { replayed, recorded_at, ..CommitResult::default() };
            assert_eq!(is_replay_from_before(&result, Timestamp(100)), expected, "{result:?}");
        };
        check(true, Some(99), true);
        check(true, Some(100), false);
        check(true, Some(101), false);
        check(true, None, false);
        check(false, Some(99), false);
    }
}
