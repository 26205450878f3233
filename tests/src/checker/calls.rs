//! Calls of the workload, as their callers saw them.

use std::time::Duration;

use domain::{CommitId, ConversationKey, NewEvent, Position, Timestamp, Version};

/// One command with all of its tries, which share a key.
#[derive(Debug, Clone)]
pub struct Call {
    /// The idempotency key, which is the commit id; never used for another command.
    pub key: CommitId,
    /// The target.
    pub conversation: ConversationKey,
    /// The expected commit.
    pub asked: Expectation,
    /// When the first try was sent, since the start of the test.
    pub invoked: Duration,
    /// When the last answer arrived, since the start of the test.
    pub settled: Duration,
    /// How often the command was sent.
    pub tries: u32,
    /// The position on a stream of commands; `None` for a unary call.
    pub stream_place: Option<StreamPlace>,
    /// The outcome.
    pub outcome: Outcome,
}

/// The expected commit of a command.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// The events of the commit, in order; for a lifecycle command its one event.
    pub events: Vec<NewEvent>,
    /// The expected version of the conversation before the commit; `None`: any.
    pub expected: Option<Version>,
}

/// A position on a stream: commands of one conversation are executed in the order sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPlace {
    /// The stream.
    pub stream: u64,
    /// The position on it.
    pub place: u64,
}

/// The outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was acknowledged.
    Committed(Answer),
    /// There was nothing to change.
    Unchanged,
    /// It was rejected permanently.
    Refused(Refusal),
    /// No answer arrived, or none that settles it: the commit may exist.
    Unknown,
}

/// An acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The version of the first event.
    pub first_version: Version,
    /// The version of the last event.
    pub version: Version,
    /// The position of the commit.
    pub position: Position,
    /// The time of record.
    pub recorded_at: Timestamp,
}

/// The reason why a command was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The stable reason.
    pub reason: String,
    /// The conversation's version, if the rejection is a conflict.
    pub current: Option<Version>,
}

/// The answer to a fresh read of a conversation.
#[derive(Debug, Clone)]
pub struct FreshRead {
    /// The conversation.
    pub conversation: ConversationKey,
    /// When the read was sent, since the start of the test.
    pub invoked: Duration,
    /// The version in the answer.
    pub version: Version,
}

impl Call {
    /// The acknowledgement, if there is one.
    #[must_use]
    pub fn answer(&self) -> Option<&Answer> {
        match &self.outcome {
            Outcome::Committed(answer) => Some(answer),
            Outcome::Unchanged | Outcome::Refused(_) | Outcome::Unknown => None,
        }
    }
}
