//! Converts the errors of the writer into problems for callers.

use std::fmt::Display;
use std::time::Duration;

use domain::{Owner, Rejection, Sequence};
use event_log::{CorruptMessage, Unavailable};
use read_model::{ForkRow, ReadModelError};
pub(crate) use registry::{access_problem, unauthenticated};
use runtime::compute::{WAIT_MAX, WAITING_MAX};
use runtime::fair::Busy;
use wire::status::{Problem, Reason};

use crate::key_age::CLOCK_LEEWAY;
use crate::queue::QueueFull;

/// The retry delay for a full queue, an unavailable record or read model, and lost races.
pub(crate) const RETRY_AFTER: Duration = Duration::from_millis(250);
/// Maximum number of forks that a rejected erasure names.
pub(crate) const FORKS_NAMED_MAX: usize = 20;

/// The state of the conversation does not allow the command.
#[expect(clippy::needless_pass_by_value, reason = "used with `map_err`")]
pub(crate) fn from_rejection(rejection: Rejection) -> Problem {
    let message = rejection.to_string();
    let event = |reason, index: usize, field: &str| {
        Problem::of_field(reason, format!("events[{index}].{field}"), message.clone())
    };
    let call = |reason, index, fact: &str| event(reason, index, &format!("{fact}.call_id"));
    let summary = |reason, index| event(reason, index, "history_summarised.through_version");
    match rejection {
        Rejection::NotFound => Problem::new(Reason::ConversationNotFound, message),
        Rejection::AlreadyExists => Problem::new(Reason::ConversationExists, message),
        Rejection::VersionConflict { current, .. } => {
            Problem::new(Reason::VersionConflict, message).with("current_version", current.to_string())
        }
        Rejection::RunActive { run } => Problem::new(Reason::RunActive, message).with("run_id", run.to_string()),
        Rejection::RunNotActive => Problem::new(Reason::RunNotActive, message),
        Rejection::RunStopping => Problem::new(Reason::RunStopping, message),
        Rejection::OwnerMismatch => Problem::new(Reason::OwnerMismatch, message),
        Rejection::OwnerFixed => Problem::new(Reason::OwnerFixed, message),
        Rejection::ForkPointMissing => Problem::of_field(Reason::ForkPointNotFound, "forked_from", message),
        Rejection::ForkTooDeep { depth_max } => {
            Problem::of_field(Reason::ForkTooDeep, "forked_from", message).with("fork_depth_max", depth_max.to_string())
        }
        Rejection::Archived => Problem::new(Reason::ConversationArchived, message),
        Rejection::Erased => Problem::new(Reason::ConversationErased, message),
        Rejection::CallNotOpen { index, .. } => call(Reason::ToolCallNotOpen, index, "tool_returned"),
        Rejection::CallAlreadyOpen { index, .. } => call(Reason::ToolCallAlreadyOpen, index, "tool_called"),
        Rejection::ToolMismatch { index, .. } => call(Reason::ToolMismatch, index, "tool_returned"),
        Rejection::TooManyOpenCalls { index, open_max } => {
            call(Reason::TooManyOpenCalls, index, "tool_called").with("open_calls_max", open_max.to_string())
        }
        Rejection::SummaryBeyondHistory { index, last, .. } => {
            summary(Reason::SummaryBeyondHistory, index).with("last_version", last.to_string())
        }
        Rejection::RewindBeyondHistory { index, last, .. } => {
            let field = "history_rewound.to_version";
            event(Reason::RewindBeyondHistory, index, field).with("last_version", last.to_string())
        }
        Rejection::SummaryStale { index, reached } => {
            summary(Reason::SummaryStale, index).with("summarised_through", reached.to_string())
        }
    }
}

/// The key in this field was used for another request.
pub(crate) fn key_reused(field: &str) -> Problem {
    Problem::of_field(
        Reason::IdempotencyKeyReused,
        field,
        "was used for another request: use a new key for every request",
    )
}

/// The time of the key or run id is too far in the future.
pub(crate) fn key_in_future(field: &str) -> Problem {
    let leeway_s = CLOCK_LEEWAY.as_secs();
    Problem::of_field(
        Reason::IdempotencyKeyInFuture,
        field,
        format!(
            "has a time more than {leeway_s} s after the clock of the server: correct the clock that created this UUIDv7, or use a UUIDv4"
        ),
    )
}

/// The last parts of the run are not those at `previous_sequence`; `last`: the sequence of the last ones, 0 for none.
pub(crate) fn parts_superseded(last: Sequence) -> Problem {
    let message = "the last parts of the run are not those at `previous_sequence`: read the run";
    Problem::new(Reason::PartsSuperseded, message).with("last_sequence", last.to_string())
}

/// Other writers were faster, `attempts` times in a row.
pub(crate) fn contention(attempts: u32) -> Problem {
    let message = format!("other writers were faster {attempts} times in a row: try again with the same key");
    Problem::new(Reason::Contention, message).retry_after(RETRY_AFTER)
}

/// The record does not answer. The command may be committed: a retry with the same key
/// returns its result.
pub(crate) fn from_record(error: Unavailable) -> Problem {
    if error.is_diverged() {
        return Problem::diverged();
    }
    not_complete(error)
}

/// A command waits for another one that is not complete.
pub(crate) fn not_complete(cause: impl Display) -> Problem {
    let message = format!("{cause}: try again with the same idempotency key");
    Problem::new(Reason::RecordUnavailable, message).retry_after(RETRY_AFTER)
}

/// The read model fails in the search for an old key.
#[expect(clippy::needless_pass_by_value, reason = "used with `map_err`")]
pub(crate) fn from_read_model(error: ReadModelError) -> Problem {
    of_rows(&error, || {
        let message =
            "the read model does not answer in the search for an old idempotency key: try again with the same key";
        Problem::new(Reason::ReadModelUnavailable, message).retry_after(RETRY_AFTER)
    })
}

/// The read model fails in the check for forks of a conversation to be erased.
#[expect(clippy::needless_pass_by_value, reason = "used with `map_err`")]
pub(crate) fn from_fork_check(error: ReadModelError) -> Problem {
    of_rows(&error, rows_unavailable)
}

/// The read model fails. `unavailable`: the problem while it does not answer.
fn of_rows(error: &ReadModelError, unavailable: impl FnOnce() -> Problem) -> Problem {
    if *error == ReadModelError::Diverged {
        return Problem::diverged();
    }
    if error.is_unavailable() {
        return unavailable();
    }
    Problem::new(Reason::DataCorrupt, error.to_string())
}

/// The read model did not answer the check for forks in time.
pub(crate) fn rows_unavailable() -> Problem {
    let message = "the read model does not answer in the check for forks: try again";
    Problem::new(Reason::ReadModelUnavailable, message).retry_after(RETRY_AFTER)
}

/// A fork may be among the commits without rows.
pub(crate) fn rows_behind() -> Problem {
    let message = "some commits have no rows yet, and one may be a fork: try again";
    Problem::new(Reason::ReadModelUnavailable, message).retry_after(RETRY_AFTER)
}

/// The conversation has forks. All are counted; if the caller gave the expected owner, only forks of this owner are named.
pub(crate) fn has_forks(forks: &[ForkRow], expected: Option<&Owner>) -> Problem {
    let all = forks.len();
    let message = format!(
        "{all} forks read through this conversation and would become unreadable: erase them first, or sever them"
    );
    let problem = Problem::new(Reason::HasForks, message).with("forks", all.to_string());
    let named: Vec<&str> = forks
        .iter()
        .filter(|fork| expected.is_none_or(|owner| *owner == fork.owner))
        .map(|fork| fork.id.as_str())
        .take(FORKS_NAMED_MAX)
        .collect();
    if named.is_empty() {
        return problem;
    }
    problem.with("fork_ids", named.join(","))
}

/// A message of the record cannot be read.
#[expect(clippy::needless_pass_by_value, reason = "used with `map_err`")]
pub(crate) fn from_corrupt(corrupt: CorruptMessage) -> Problem {
    Problem::new(Reason::DataCorrupt, corrupt.to_string())
}

/// The tenant makes this process compute too much: `map_err` passes the error.
pub(crate) fn from_busy(_: Busy) -> Problem {
    let message = format!(
        "more than {WAITING_MAX} checks and token counts of this tenant wait, or one waited for {} s: send fewer large requests at once",
        WAIT_MAX.as_secs()
    );
    Problem::new(Reason::Overloaded, message).retry_after(RETRY_AFTER)
}

/// The queue of the conversation is full.
pub(crate) fn from_queue_full(full: QueueFull) -> Problem {
    Problem::new(Reason::Overloaded, format!("{full}: slow down")).retry_after(RETRY_AFTER)
}
