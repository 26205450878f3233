//! The way of every command: load the head, decide, seal, append; again when somebody else was faster.

use std::time::{Duration, Instant};

use bytes::Bytes;
use domain::{
    Action, Decision, Event, Head, Rejection, Sequence, Timestamp, Violation, ViolationReason,
    decide,
};
use event_log::{Append, AppendOutcome, TraceHeaders};
use rand::RngExt as _;
use wire::commit::{Draft, Sealed, seal};
use wire::proto::write::v1 as proto;
use wire::status::{Problem, Reason};

use crate::base::{Base, Loaded};
use crate::fork::Confirmation;
use crate::intent::Intent;
use crate::queue::{Place, TURN_WAIT_MAX};
use crate::{Writer, erasure, fork, metrics, problem, replay};

/// How often a command is decided anew because somebody else was faster, before the caller is asked to come again.
pub const REBASES_MAX: u32 = 8;
/// The longest jittered wait before the first rebase; doubles with each further one.
const REBASE_WAIT_BASE: Duration = Duration::from_millis(1);

/// Carries out a command, once its place in the conversation's queue has its turn.
///
/// # Errors
/// A [`Problem`] that tells the caller what to do. After `UNAVAILABLE` the outcome is unknown: a retry with the same
/// idempotency key finds it or brings it about.
pub async fn commit(
    writer: &Writer,
    intent: Intent,
    place: Place,
) -> Result<proto::CommitResult, Problem> {
    let started = Instant::now();
    let turn = place.turn_within(TURN_WAIT_MAX).await;
    metrics::queued(started.elapsed());
    let outcome = match &turn {
        Ok(_) => match Box::pin(carry_out(writer, &intent)).await {
            Ok(result) => Box::pin(confirmed(writer, &intent, result)).await,
            rejected => rejected,
        },
        Err(late) => Err(problem::of_late_turn(*late)),
    };
    drop(turn);
    metrics::appended(started.elapsed(), &outcome);
    outcome
}

/// The answer of a command. A fork that was appended after what it reads through was erased is undone, and never acknowledged.
async fn confirmed(
    writer: &Writer,
    intent: &Intent,
    result: proto::CommitResult,
) -> Result<proto::CommitResult, Problem> {
    match fork::confirm(writer, intent, &result).await? {
        Confirmation::Acknowledged => return Ok(result),
        Confirmation::ParentErased {
            undo: Some(erasure),
        } => undo(writer, &erasure).await?,
        Confirmation::ParentErased { undo: None } => {}
    }
    Err(problem::of_rejection(&Rejection::ForkPointMissing))
}

/// Erases a fork, outside of its queue.
async fn undo(writer: &Writer, erasure: &Intent) -> Result<(), Problem> {
    match carry_out(writer, erasure).await {
        Ok(_) => {
            writer.removals.after_tombstone(&erasure.key).await;
            Ok(())
        }
        // Somebody has just said something in it, or erased it.
        Err(problem) if problem.reason() == Reason::VersionConflict => Ok(()),
        Err(problem) => Err(problem),
    }
}

/// Decides and appends, also outside of the conversation's queue.
async fn carry_out(writer: &Writer, intent: &Intent) -> Result<proto::CommitResult, Problem> {
    let mut loaded = writer.bases.load(&intent.key).await?;
    let mut search = replay::Search::of(writer, intent);
    let mut rebases = 0;
    loop {
        if let Some(result) = search.before_decision(writer, intent, &loaded).await? {
            return Ok(result);
        }
        let events = match decided(writer, intent, &loaded).await {
            Ok(Decision::Commit(events)) => events,
            Ok(Decision::Unchanged) if loaded.is_certain => {
                let earlier = search.before_rejection(writer, intent, &loaded).await?;
                let result = earlier.unwrap_or_else(|| unchanged(writer, intent, &loaded));
                return Ok(result);
            }
            Err(rejected) if loaded.is_certain => {
                let earlier = search.before_rejection(writer, intent, &loaded).await?;
                return earlier.ok_or(rejected);
            }
            Ok(Decision::Unchanged) | Err(_) => {
                loaded = writer.bases.load_certain(&intent.key).await?;
                continue;
            }
        };
        match append(writer, intent, &loaded, &events).await? {
            Appended::Done(result) => return Ok(result),
            Appended::Superseded if rebases < REBASES_MAX => {
                rebases += 1;
                metrics::rebased();
                wait_before_rebase(rebases).await;
                // Read after the wait: what was last before it may be old again.
                loaded = writer.bases.load_certain(&intent.key).await?;
            }
            Appended::Superseded => return Err(problem::contention(REBASES_MAX)),
        }
    }
}

async fn decided(writer: &Writer, intent: &Intent, loaded: &Loaded) -> Result<Decision, Problem> {
    let command = fork::placed(writer, intent, loaded).await?;
    decide(loaded.head(), &command).map_err(|rejection| problem::of_rejection(&rejection))
}

enum Appended {
    Done(proto::CommitResult),
    Superseded,
}

async fn append(
    writer: &Writer,
    intent: &Intent,
    loaded: &Loaded,
    events: &[Event],
) -> Result<Appended, Problem> {
    let previous = loaded.base.as_deref();
    let recorded_at = writer
        .now()
        .max(previous.map_or(Timestamp(i64::MIN), |base| base.head.recorded_at));
    let draft = Draft {
        tenant: &intent.key.tenant,
        conversation: &intent.key.conversation,
        id: intent.command.commit,
        request_digest: intent.request_digest,
        recorded_at,
        actor: &intent.access.actor,
        events,
    };
    let sealed = seal(&draft, previous.map(|base| (&base.head, base.sequence)))?;
    check_payload(writer, &sealed.message)?;
    writer.quotas.admit(writer, intent, &sealed).await?;
    erasure::enter(writer, intent, previous).await?;
    let Sealed { message, head, .. } = sealed;
    let mut trace = TraceHeaders::default();
    runtime::telemetry::inject(|name, value| trace.put(name, value));
    let append = Append {
        commit: intent.command.commit,
        message,
        expected: previous.map(|base| base.sequence),
        trace,
    };
    match writer
        .record
        .append(&intent.key, append)
        .await
        .map_err(problem::of_record)?
    {
        AppendOutcome::Committed { sequence } => {
            let result = result_of(writer, intent, &head, sequence);
            if matches!(intent.command.action, Action::Erase { .. }) {
                let owner = previous.and_then(|base| base.head.owner.as_ref());
                writer.quotas.erased(intent, owner).await;
            }
            writer.bases.keep(&intent.key, Base { head, sequence });
            Ok(Appended::Done(result))
        }
        AppendOutcome::Duplicate { sequence } => {
            match replay::from_record(writer, intent, sequence).await? {
                Some(result) => Ok(Appended::Done(result)),
                // Erased since: the conversation's last commit tells.
                None => Ok(Appended::Superseded),
            }
        }
        AppendOutcome::Superseded { .. } => Ok(Appended::Superseded),
    }
}

fn check_payload(writer: &Writer, message: &Bytes) -> Result<(), Problem> {
    let bytes_max = writer.record.payload_bytes_max();
    if message.len() <= bytes_max {
        return Ok(());
    }
    let description = format!(
        "is {} bytes as one commit, the record takes at most {bytes_max}: append in several commits",
        message.len()
    );
    Err(Violation::new(ViolationReason::CommitTooLarge, description)
        .within("events")
        .into())
}

async fn wait_before_rebase(rebases: u32) {
    let longest = REBASE_WAIT_BASE.saturating_mul(1 << (rebases - 1).min(8));
    let wait = longest.mul_f64(rand::rng().random_range(0.0..1.0));
    tokio::time::sleep(wait).await;
}

fn result_of(
    writer: &Writer,
    intent: &Intent,
    head: &Head,
    sequence: Sequence,
) -> proto::CommitResult {
    let commit = head.recent.last();
    proto::CommitResult {
        conversation_id: intent.key.conversation.as_str().to_owned(),
        commit_id: commit
            .map(|commit| commit.id.to_string())
            .unwrap_or_default(),
        first_version: commit.map_or(0, |commit| commit.first_version.0),
        version: head.version.0,
        recorded_at: Some(wire::time::to_proto(head.recorded_at)),
        position_token: writer.position_token(&intent.key, sequence, head.version),
        replayed: false,
    }
}

fn unchanged(writer: &Writer, intent: &Intent, loaded: &Loaded) -> proto::CommitResult {
    let Some(base) = &loaded.base else {
        return proto::CommitResult::default();
    };
    proto::CommitResult {
        commit_id: String::new(),
        first_version: 0,
        ..result_of(writer, intent, &base.head, base.sequence)
    }
}
