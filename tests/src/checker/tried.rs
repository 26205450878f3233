//! What was tried: every call, as its caller saw it.

use std::time::Duration;

use domain::{CommitId, ConversationKey, NewEvent, Position, Timestamp, Version};

/// One command with all of its tries, which share a key.
#[derive(Debug, Clone)]
pub struct Call {
    /// The idempotency key, which is the commit's id; never used for another command.
    pub key: CommitId,
    /// Where to.
    pub conversation: ConversationKey,
    /// What should happen.
    pub asked: Asked,
    /// When the first try was sent, since the test began.
    pub invoked: Duration,
    /// When the last answer came, since the test began.
    pub settled: Duration,
    /// How often it was sent.
    pub tries: u32,
    /// Its place on a stream of commands; `None` for a unary call.
    pub pipelined: Option<Pipelined>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What a command asks for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The events that its commit is to hold, in order; of a lifecycle command the one that it comes to.
    pub events: Vec<NewEvent>,
    /// The version that the conversation must be at; `None`: any.
    pub expected: Option<Version>,
}

/// A place on a stream: commands of one conversation are carried out in the order sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pipelined {
    /// The stream.
    pub stream: u64,
    /// The place on it.
    pub place: u64,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was acknowledged.
    Committed(Answer),
    /// Things were as they should be.
    Unchanged,
    /// It was refused for good.
    Refused(Refusal),
    /// No answer came, or none that settles it: the commit may be there or not.
    Unknown,
}

/// What an acknowledgement says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The version of the first event.
    pub first_version: Version,
    /// The version of the last event.
    pub version: Version,
    /// Where the commit stands.
    pub position: Position,
    /// When it was recorded.
    pub recorded_at: Timestamp,
}

/// Why a command was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The stable reason.
    pub reason: String,
    /// The conversation's version, where the refusal is a conflict.
    pub current: Option<Version>,
}

/// What a fresh read told of a conversation.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The conversation.
    pub conversation: ConversationKey,
    /// When the read was sent, since the test began.
    pub invoked: Duration,
    /// The version that it told.
    pub version: Version,
}

impl Call {
    /// The acknowledgement, where there is one.
    #[must_use]
    pub fn answer(&self) -> Option<&Answer> {
        match &self.outcome {
            Outcome::Committed(answer) => Some(answer),
            Outcome::Unchanged | Outcome::Refused(_) | Outcome::Unknown => None,
        }
    }
}
