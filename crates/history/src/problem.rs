//! The errors of reads, as callers get them.

use std::error::Error;
use std::time::Duration;

use event_log::{CorruptMessage, Unavailable};
use read_model::ReadModelError;
use wire::status::{Problem, Reason};

/// Delay before a retry if a dependency does not answer or a position is not reached.
pub const RETRY_AFTER: Duration = Duration::from_millis(250);

/// The conversation does not exist, is erased or belongs to another agent: the answer is the same.
#[must_use]
pub fn not_found() -> Problem {
    Problem::new(
        Reason::ConversationNotFound,
        "no such conversation for this agent: check conversation_id and agent_id",
    )
}

/// The record does not answer.
#[must_use]
pub fn of_record(error: &Unavailable) -> Problem {
    if error.is_diverged() {
        return Problem::diverged();
    }
    Problem::new(Reason::RecordUnavailable, format!("{error}: try again, or read with consistency eventual"))
        .retry_after(Duration::from_millis(error.retry_after_ms))
}

/// The record did not answer before the deadline, or lacks commits that it had before.
#[must_use]
pub fn record_timed_out() -> Problem {
    Problem::new(
        Reason::RecordUnavailable,
        "the record did not answer in time: try again, or read with consistency eventual",
    )
    .retry_after(RETRY_AFTER)
}

/// The read model is unavailable or corrupt.
#[must_use]
pub fn of_read_model(error: &ReadModelError) -> Problem {
    if *error == ReadModelError::Diverged {
        return Problem::diverged();
    }
    if let ReadModelError::Unavailable { shard, retry_after_ms, .. } = error {
        let message = match shard {
            Some(name) => format!("shard {name} of the read model is unavailable: try again"),
            None => "the read model is unavailable: try again".to_owned(),
        };
        return Problem::new(Reason::ReadModelUnavailable, message).retry_after(Duration::from_millis(*retry_after_ms));
    }
    corrupt(error)
}

/// The read model did not answer before the deadline.
#[must_use]
pub fn read_model_timed_out() -> Problem {
    Problem::new(Reason::ReadModelUnavailable, "the read model did not answer in time: try again")
        .retry_after(RETRY_AFTER)
}

/// A message of the record cannot be decoded.
#[must_use]
pub fn of_corrupt(message: &CorruptMessage) -> Problem {
    corrupt(message)
}

/// The data of a conversation is inconsistent; `what` describes where.
#[must_use]
pub fn of_contradiction(what: String) -> Problem {
    tracing::error!(what, "conversation is corrupt");
    Problem::new(Reason::DataCorrupt, what)
}

/// The position token of the caller was not reached in time.
#[must_use]
pub fn position_not_reached() -> Problem {
    Problem::new(Reason::PositionNotReached, "the position was not reached in time: try again").retry_after(RETRY_AFTER)
}

fn corrupt(error: &(dyn Error + 'static)) -> Problem {
    tracing::error!(error, "stored data cannot be decoded");
    Problem::new(Reason::DataCorrupt, error.to_string())
}
