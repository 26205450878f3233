//! Execution of a command: load the head, decide, seal, append. It is retried after a lost race with another writer.

use std::time::{Duration, Instant};

use backoff::delay;
use domain::{
    Action, Decision, Event, Head, Rejection, Sequence, Timestamp, Version, Violation, ViolationReason, decide,
};
use event_log::{Append, AppendOutcome, TraceHeaders};
use futures::future::BoxFuture;
use wire::commit::{Draft, Sealed, seal};
use wire::proto::write::v1 as proto;
use wire::status::{Problem, Reason};

use crate::fork::Confirmation;
use crate::queue::{QueueTicket, TURN_WAIT_MAX};
use crate::quotas::Charge;
use crate::{Intent, LoadedHead, StoredHead, Writer, erasure, fork, idempotency, metrics, problem};

/// Maximum number of new decisions after lost races. Then the caller must retry.
pub(crate) const REBASES_MAX: u32 = 8;
/// First and longest wait before a new decision.
const REBASE_WAITS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(256));

/// Executes a command when the commands before it in the queue of its conversation have ended.
/// Errors: as [`commit`], or the queue is full.
pub(crate) async fn commit_in_turn(writer: &Writer, intent: Intent) -> Result<proto::CommitResult, Problem> {
    let ticket = writer.queues.enter(&intent.key);
    commit(writer, intent, ticket.map_err(problem::from_queue_full)?).await
}

/// Executes a command in its turn in the queue of the conversation.
/// Errors: a [`Problem`] for the caller. After `UNAVAILABLE` the outcome is unknown: a retry with the same idempotency key
/// returns or completes it.
pub(crate) async fn commit(
    writer: &Writer,
    intent: Intent,
    ticket: QueueTicket,
) -> Result<proto::CommitResult, Problem> {
    let started = Instant::now();
    let turn = ticket.wait_for_turn(TURN_WAIT_MAX).await;
    metrics::queued(started.elapsed());
    let outcome = match &turn {
        Ok(_) => execute_and_confirm(writer, &intent).await,
        Err(timeout) => Err(problem::not_complete(timeout)),
    };
    drop(turn);
    metrics::command_answered(started.elapsed(), &outcome);
    outcome
}

/// Executes a command in its turn. The type of the future is erased: the futures of all commands contain it, and the compiler
/// would examine it in each.
fn execute_and_confirm<'a>(
    writer: &'a Writer,
    intent: &'a Intent,
) -> BoxFuture<'a, Result<proto::CommitResult, Problem>> {
    Box::pin(async move {
        let result = execute(writer, intent).await?;
        // Boxed: few commands are forks.
        Box::pin(confirm_fork(writer, intent, result)).await
    })
}

/// The result of a command. A fork that was appended after the erasure of an ancestor is erased, and never acknowledged.
async fn confirm_fork(
    writer: &Writer,
    intent: &Intent,
    result: proto::CommitResult,
) -> Result<proto::CommitResult, Problem> {
    match fork::confirm(writer, intent, &result).await? {
        Confirmation::Acknowledged => return Ok(result),
        Confirmation::ParentErased { undo: Some(erasure) } => undo(writer, &erasure).await?,
        Confirmation::ParentErased { undo: None } => {}
    }
    Err(problem::from_rejection(Rejection::ForkPointMissing))
}

/// Erases a fork, outside of its queue.
async fn undo(writer: &Writer, erasure: &Intent) -> Result<(), Problem> {
    match execute(writer, erasure).await {
        Ok(_) => {
            writer.removals.after_tombstone(&erasure.key).await;
            Ok(())
        }
        // Another caller has just appended to it or erased it.
        Err(problem) if problem.reason() == Reason::VersionConflict => Ok(()),
        Err(problem) => Err(problem),
    }
}

/// Decides and appends; also used outside of the queue of the conversation.
async fn execute(writer: &Writer, intent: &Intent) -> Result<proto::CommitResult, Problem> {
    let mut charge = None;
    let result = execute_charged(writer, intent, &mut charge).await;
    if let Some(charge) = charge {
        writer.quotas.refund(&charge).await;
    }
    result
}

/// Decides and appends. `charge`: what the command was charged, unless it is stored or its outcome is unknown.
async fn execute_charged(
    writer: &Writer,
    intent: &Intent,
    charge: &mut Option<Charge>,
) -> Result<proto::CommitResult, Problem> {
    let mut loaded = writer.heads.load(&intent.key).await?;
    let mut search = idempotency::Search::new(writer, intent).await?;
    let mut rebases = 0;
    loop {
        if search.has_expired() {
            search = idempotency::Search::new(writer, intent).await?;
        }
        if let Some(result) = search.before_decision(writer, intent, &loaded).await? {
            return Ok(result);
        }
        let events = match decide_on(writer, intent, &loaded).await {
            Ok(Decision::Commit(events)) => events,
            Ok(Decision::Unchanged) if loaded.from_leader => {
                let earlier = search.before_rejection(writer, intent, &loaded).await?;
                let result = match earlier {
                    Some(earlier) => earlier,
                    None => unchanged(writer, intent, &loaded).await?,
                };
                return Ok(result);
            }
            Err(rejected) if loaded.from_leader => {
                let earlier = search.before_rejection(writer, intent, &loaded).await?;
                return earlier.ok_or(rejected);
            }
            Ok(Decision::Unchanged) | Err(_) => {
                loaded = writer.heads.load_from_leader(&intent.key).await?;
                continue;
            }
        };
        let decided = Decided { loaded: &loaded, events: &events, search: &search };
        match append(writer, intent, decided, charge).await? {
            Appended::Done(result) => return Ok(result),
            Appended::Superseded if rebases < REBASES_MAX => {
                rebases += 1;
                metrics::rebased();
                wait_before_rebase(rebases).await;
                // Loaded after the wait, so that it is recent.
                loaded = writer.heads.load_from_leader(&intent.key).await?;
            }
            Appended::Superseded => return Err(problem::contention(REBASES_MAX)),
        }
    }
}

async fn decide_on(writer: &Writer, intent: &Intent, loaded: &LoadedHead) -> Result<Decision, Problem> {
    let command = fork::with_fork_point(writer, intent, loaded).await?;
    decide(loaded.head(), &command).map_err(problem::from_rejection)
}

/// Events to append after a head.
#[derive(Clone, Copy)]
struct Decided<'a> {
    loaded: &'a LoadedHead,
    events: &'a [Event],
    /// The search that found no earlier attempt.
    search: &'a idempotency::Search,
}

enum Appended {
    Done(proto::CommitResult),
    /// Another commit was first, or the decision is too old: decide again.
    Superseded,
}

async fn append(
    writer: &Writer,
    intent: &Intent,
    decided: Decided<'_>,
    charge: &mut Option<Charge>,
) -> Result<Appended, Problem> {
    let previous = decided.loaded.stored.as_deref();
    let now = writer.record_time(&intent.key).await?;
    let recorded_at = recorded_at(now, previous.map(|stored| stored.head.recorded_at));
    let draft = Draft {
        tenant: &intent.key.tenant,
        conversation: &intent.key.conversation,
        id: intent.command.commit,
        request_digest: intent.request_digest,
        recorded_at,
        actor: &intent.access.actor,
        events: decided.events,
    };
    let sealed = seal(&draft, previous.map(|stored| (&stored.head, stored.sequence)))?;
    check_payload(sealed.message.len(), writer.record.payload_bytes_max())?;
    if charge.is_none() {
        let before = previous.map(|stored| &stored.head);
        *charge = Some(writer.quotas.admit(writer, intent, before, &sealed).await?);
    }
    erasure::prepare(writer, intent, previous).await?;
    let Sealed { message, head, .. } = sealed;
    let mut trace = TraceHeaders::default();
    runtime::telemetry::inject(|name, value| trace.put(name, value));
    let append = Append {
        commit: intent.command.commit,
        message,
        expected: previous.and_then(|stored| stored.recorded),
        hibernated_in: previous.and_then(|stored| stored.hibernated_in),
        trace,
    };
    if decided.search.has_expired() {
        return Ok(Appended::Superseded);
    }
    let outcome = writer.record.append(&intent.key, append).await;
    if matches!(outcome, Ok(AppendOutcome::Committed { .. }) | Err(_)) {
        *charge = None;
    }
    match outcome.map_err(problem::from_record)? {
        AppendOutcome::Committed { sequence } => {
            let result = last_result(writer, intent, &head, sequence).await?;
            if matches!(intent.command.action, Action::Erase { .. }) {
                let owner = previous.and_then(|stored| stored.head.owner.as_ref());
                writer.quotas.erased(intent, owner).await;
            }
            keep_head(writer, intent, previous, head, sequence);
            Ok(Appended::Done(result))
        }
        AppendOutcome::Duplicate { sequence } => {
            let result = idempotency::result_at(writer, intent, sequence).await?;
            // `None`: the commit was erased since; the last commit of the conversation decides.
            Ok(result.map_or(Appended::Superseded, Appended::Done))
        }
        AppendOutcome::Superseded { .. } => Ok(Appended::Superseded),
    }
}

/// Caches the head of a commit that was just appended.
fn keep_head(writer: &Writer, intent: &Intent, previous: Option<&StoredHead>, head: Head, sequence: Sequence) {
    if previous.is_some_and(|stored| stored.hibernated_in.is_some()) {
        metrics::woken();
    }
    let loaded_through = previous.map_or(Version::ZERO, |stored| stored.loaded_through);
    let stored = StoredHead { head, sequence, recorded: Some(sequence), hibernated_in: None, loaded_through };
    writer.heads.keep(&intent.key, stored);
}

/// The time of a commit after another one: it never decreases, also if the clock of another server was ahead.
fn recorded_at(now: Timestamp, previous: Option<Timestamp>) -> Timestamp {
    previous.map_or(now, |previous| previous.max(now))
}

fn check_payload(bytes: usize, bytes_max: usize) -> Result<(), Problem> {
    if bytes <= bytes_max {
        return Ok(());
    }
    let description =
        format!("is {bytes} bytes as one commit, the record accepts at most {bytes_max}: append in several commits");
    Err(Violation::new(ViolationReason::CommitTooLarge, description).within("events").into())
}

/// `rebases`: the number of the new decision, from 1.
async fn wait_before_rebase(rebases: u32) {
    tokio::time::sleep(delay(rebases.saturating_sub(1), REBASE_WAITS.0, REBASE_WAITS.1)).await;
}

/// The result of the commit that contains a head.
async fn last_result(
    writer: &Writer,
    intent: &Intent,
    head: &Head,
    sequence: Sequence,
) -> Result<proto::CommitResult, Problem> {
    match head.recent.last() {
        Some(last) => writer.commit_result(&intent.key, last, sequence).await,
        None => Ok(proto::CommitResult::default()),
    }
}

async fn unchanged(writer: &Writer, intent: &Intent, loaded: &LoadedHead) -> Result<proto::CommitResult, Problem> {
    let Some(stored) = &loaded.stored else {
        return Ok(proto::CommitResult::default());
    };
    Ok(proto::CommitResult {
        commit_id: String::new(),
        first_version: 0,
        ..last_result(writer, intent, &stored.head, stored.sequence).await?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_commits_never_decreases() {
        let check = |now: i64, previous: Option<i64>, expected: i64| {
            assert_eq!(recorded_at(Timestamp(now), previous.map(Timestamp)), Timestamp(expected), "{now} {previous:?}");
        };
        check(5, None, 5);
        check(-5, None, -5);
        check(5, Some(4), 5);
        check(5, Some(6), 6);
    }

    #[test]
    fn a_commit_may_be_as_large_as_the_record_accepts() {
        assert!(check_payload(7, 7).is_ok());
        let too_large = check_payload(8, 7).unwrap_err();
        assert_eq!(too_large.reason(), Reason::Field(ViolationReason::CommitTooLarge));
        assert_eq!(*too_large.field().unwrap(), *"events");
    }
}
