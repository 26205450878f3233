//! The one place where the writer's errors become what callers see.

use std::time::Duration;

use domain::{Owner, Rejection, Sequence};
pub use event_log::registry::{of_access, unauthenticated};
use event_log::{CorruptMessage, Unavailable};
use read_model::{ForkRow, ReadModelError};
use wire::status::{Problem, Reason};

use crate::key_age::CLOCK_LEEWAY;
use crate::queue::{QueueFull, TurnLate};

/// When to try again once a queue is full, the record or the read model is away, or others are faster.
pub const RETRY_AFTER: Duration = Duration::from_millis(250);
/// Most forks that a refused erasure names.
pub const FORKS_NAMED_MAX: usize = 20;

/// A command that the conversation's state does not allow.
#[must_use]
pub fn of_rejection(rejection: &Rejection) -> Problem {
    let message = rejection.to_string();
    let of_event = |reason, index: usize, field: &str| {
        Problem::of_field(reason, &format!("events[{index}].{field}"), message.clone())
    };
    let of_call = |reason, index, fact: &str| of_event(reason, index, &format!("{fact}.call_id"));
    let of_summary = |reason, index| of_event(reason, index, "history_summarised.through_version");
    match rejection {
        Rejection::NotFound => Problem::new(Reason::ConversationNotFound, message),
        Rejection::AlreadyExists => Problem::new(Reason::ConversationExists, message),
        Rejection::VersionConflict { current, .. } => {
            Problem::new(Reason::VersionConflict, message)
                .with("current_version", current.to_string())
        }
        Rejection::RunActive { run } => {
            Problem::new(Reason::RunActive, message).with("run_id", run.to_string())
        }
        Rejection::RunNotActive => Problem::new(Reason::RunNotActive, message),
        Rejection::RunStopping => Problem::new(Reason::RunStopping, message),
        Rejection::OwnerMismatch => Problem::new(Reason::OwnerMismatch, message),
        Rejection::OwnerFixed => Problem::new(Reason::OwnerFixed, message),
        Rejection::ForkPointMissing => {
            Problem::of_field(Reason::ForkPointNotFound, "forked_from", message)
        }
        Rejection::ForkTooDeep { depth_max } => {
            Problem::of_field(Reason::ForkTooDeep, "forked_from", message)
                .with("fork_depth_max", depth_max.to_string())
        }
        Rejection::Archived => Problem::new(Reason::ConversationArchived, message),
        Rejection::Erased => Problem::new(Reason::ConversationErased, message),
        Rejection::CallNotOpen { index, .. } => {
            of_call(Reason::ToolCallNotOpen, *index, "tool_returned")
        }
        Rejection::CallAlreadyOpen { index, .. } => {
            of_call(Reason::ToolCallAlreadyOpen, *index, "tool_called")
        }
        Rejection::ToolMismatch { index, .. } => {
            of_call(Reason::ToolMismatch, *index, "tool_returned")
        }
        Rejection::TooManyOpenCalls { index, open_max } => {
            of_call(Reason::TooManyOpenCalls, *index, "tool_called")
                .with("open_calls_max", open_max.to_string())
        }
        Rejection::SummaryBeyondHistory { index, last, .. } => {
            of_summary(Reason::SummaryBeyondHistory, *index).with("last_version", last.to_string())
        }
        Rejection::RewindBeyondHistory { index, last, .. } => {
            let field = "history_rewound.to_version";
            of_event(Reason::RewindBeyondHistory, *index, field)
                .with("last_version", last.to_string())
        }
        Rejection::SummaryStale { index, reached } => {
            of_summary(Reason::SummaryStale, *index).with("summarised_through", reached.to_string())
        }
    }
}

/// The same key, in this field, came with another request.
#[must_use]
pub fn key_reused(field: &str) -> Problem {
    Problem::of_field(
        Reason::IdempotencyKeyReused,
        field,
        "was used for another request: give every request a key of its own",
    )
}

/// The key, or a run's id, is dated further ahead than clocks may be off.
#[must_use]
pub fn key_in_future(field: &str) -> Problem {
    let leeway_s = CLOCK_LEEWAY.as_secs();
    Problem::of_field(
        Reason::IdempotencyKeyInFuture,
        field,
        format!(
            "is dated more than {leeway_s} s ahead of the writer's clock: set the clock that made this UUIDv7, or use a UUIDv4"
        ),
    )
}

/// Other parts of the run are there than the caller knows of; `last`: where the run's last ones stand, 0 for none.
#[must_use]
pub fn parts_superseded(last: Sequence) -> Problem {
    let message = "other parts of the run are there than those at `previous_sequence`, or those are gone: read the run";
    Problem::new(Reason::PartsSuperseded, message).with("last_sequence", last.to_string())
}

/// Others were faster, `attempts` times in a row.
#[must_use]
pub fn contention(attempts: u32) -> Problem {
    Problem::new(
        Reason::Contention,
        format!("other writers were faster {attempts} times in a row: try again with the same key"),
    )
    .retry_after(RETRY_AFTER)
}

/// The record does not answer. What was sent may have been committed: a retry with the same key finds out.
#[must_use]
pub fn of_record(error: Unavailable) -> Problem {
    Problem::new(
        Reason::RecordUnavailable,
        format!("{error}: try again with the same idempotency key"),
    )
    .retry_after(RETRY_AFTER)
}

/// The read model does not answer, or not sensibly, when it is asked for an old key.
#[must_use]
#[expect(
    clippy::needless_pass_by_value,
    reason = "made to be given to `map_err`"
)]
pub fn of_read_model(error: ReadModelError) -> Problem {
    if !error.is_unavailable() {
        return Problem::new(Reason::DataCorrupt, error.to_string());
    }
    Problem::new(
        Reason::ReadModelUnavailable,
        "the read model, which knows old idempotency keys, does not answer: try again with the same key",
    )
    .retry_after(RETRY_AFTER)
}

/// The read model does not answer, or not sensibly, when it is asked for forks of what is to be erased.
#[must_use]
#[expect(
    clippy::needless_pass_by_value,
    reason = "made to be given to `map_err`"
)]
pub fn of_look(error: ReadModelError) -> Problem {
    if error.is_unavailable() {
        return rows_silent();
    }
    Problem::new(Reason::DataCorrupt, error.to_string())
}

/// The read model did not say in time whether there are forks of what is to be erased.
#[must_use]
pub fn rows_silent() -> Problem {
    let message = "the read model, which knows the forks, does not answer: try again";
    Problem::new(Reason::ReadModelUnavailable, message).retry_after(RETRY_AFTER)
}

/// A fork of what is to be erased may be among what the rows do not hold yet.
#[must_use]
pub fn rows_behind() -> Problem {
    let message =
        "the rows do not hold all that was recorded, and a fork may be among the rest: try again";
    Problem::new(Reason::ReadModelUnavailable, message).retry_after(RETRY_AFTER)
}

/// Forks read through what is to be erased. All of them are counted; where the caller says whose the conversation is, only that
/// owner's are named.
#[must_use]
pub fn has_forks(forks: &[ForkRow], expected: Option<&Owner>) -> Problem {
    let all = forks.len();
    let message = format!(
        "{all} conversations read through this one and could not be read any more: erase them first, or sever them"
    );
    let problem = Problem::new(Reason::HasForks, message).with("forks", all.to_string());
    let named = forks
        .iter()
        .filter(|fork| expected.is_none_or(|owner| *owner == fork.owner));
    let named: Vec<&str> = named
        .map(|fork| fork.id.as_str())
        .take(FORKS_NAMED_MAX)
        .collect();
    if named.is_empty() {
        return problem;
    }
    problem.with("fork_ids", named.join(","))
}

/// Something that a fork reads through is being erased, or not: that is not decided yet.
#[must_use]
pub fn parent_undecided() -> Problem {
    let message = "what the fork goes on from may be about to be erased: try again with the same idempotency key";
    Problem::new(Reason::RecordUnavailable, message).retry_after(RETRY_AFTER)
}

/// A message of the record that cannot be read.
#[must_use]
pub fn of_corrupt(corrupt: &CorruptMessage) -> Problem {
    Problem::new(Reason::DataCorrupt, corrupt.to_string())
}

/// Those before it in the conversation's queue took too long, as they do while the record is away.
#[must_use]
pub fn of_late_turn(late: TurnLate) -> Problem {
    Problem::new(
        Reason::RecordUnavailable,
        format!("{late}: try again with the same idempotency key"),
    )
    .retry_after(RETRY_AFTER)
}

/// More commands wait for one conversation than may.
#[must_use]
pub fn of_queue(full: QueueFull) -> Problem {
    Problem::new(Reason::Overloaded, format!("{full}: slow down")).retry_after(RETRY_AFTER)
}
