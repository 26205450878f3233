//! The one place where the writer's errors become what callers see.

use std::time::Duration;

use domain::{Rejection, Sequence};
pub use event_log::registry::{of_access, unauthenticated};
use event_log::{CorruptMessage, Unavailable};
use read_model::ReadModelError;
use wire::status::{Problem, Reason};

use crate::key_age::CLOCK_LEEWAY;
use crate::queue::{QueueFull, TurnLate};

/// When to try again once a queue is full, the record or the read model is away, or others are faster.
pub const RETRY_AFTER: Duration = Duration::from_millis(250);

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

/// The read model does not answer, or not sensibly; only retries with old keys need it.
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
