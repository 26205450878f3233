//! The problems of reads, as callers see them.

use std::error::Error;
use std::time::Duration;

use event_log::{CorruptMessage, Unavailable};
use read_model::ReadModelError;
use wire::status::{Problem, Reason};

/// When to retry once a dependency does not answer or a position is not reached.
pub const RETRY_AFTER: Duration = Duration::from_millis(250);

/// No such conversation, another agent's, or an erased one: nothing tells them apart.
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
    Problem::new(
        Reason::RecordUnavailable,
        format!("{error}: try again, or read with consistency eventual"),
    )
    .retry_after(Duration::from_millis(error.retry_after_ms))
}

/// The record's answer did not come within the call's deadline, or lacks what it held a moment ago.
#[must_use]
pub fn record_silent() -> Problem {
    Problem::new(
        Reason::RecordUnavailable,
        "the record did not answer in time: try again, or read with consistency eventual",
    )
    .retry_after(RETRY_AFTER)
}

/// The read model does not answer, or not sensibly.
#[must_use]
pub fn of_read_model(error: &ReadModelError) -> Problem {
    if let ReadModelError::Unavailable { retry_after_ms, .. } = error {
        let message = "the read model does not answer: try again";
        return Problem::new(Reason::ReadModelUnavailable, message)
            .retry_after(Duration::from_millis(*retry_after_ms));
    }
    corrupt(error)
}

/// The read model's answer did not come within the call's deadline.
#[must_use]
pub fn read_model_silent() -> Problem {
    Problem::new(
        Reason::ReadModelUnavailable,
        "the read model did not answer in time: try again",
    )
    .retry_after(RETRY_AFTER)
}

/// A message of the record that cannot be read.
#[must_use]
pub fn of_corrupt(message: &CorruptMessage) -> Problem {
    corrupt(message)
}

/// What is kept of a conversation contradicts itself; `what` names the place.
#[must_use]
pub fn of_contradiction(what: String) -> Problem {
    tracing::error!(what, "conversation is corrupt");
    Problem::new(Reason::DataCorrupt, what)
}

/// The position that the caller named was not reached in time.
#[must_use]
pub fn position_not_reached() -> Problem {
    Problem::new(
        Reason::PositionNotReached,
        "the position was not reached in time: try again",
    )
    .retry_after(RETRY_AFTER)
}

fn corrupt(error: &(dyn Error + 'static)) -> Problem {
    tracing::error!(error, "what is kept cannot be read");
    Problem::new(Reason::DataCorrupt, error.to_string())
}
