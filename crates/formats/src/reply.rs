//! What a provider answers, as facts.

use domain::Fact;

/// A reply: the assistant's message, with what it cost and why the model stopped, then its calls, in order.
///
/// The message is always there, without parts where the model only calls tools. Its provider and its calls' are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The facts, ready to be appended as one commit.
    pub facts: Vec<Fact>,
}

/// What a streamed piece of a reply adds, for those who watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// More text.
    Text(String),
    /// More of a thought.
    Thinking(String),
    /// More of a refusal.
    Refusal(String),
    /// A call begins; calls are numbered from 0 in the order of their beginning.
    CallBegan {
        /// Its number.
        index: usize,
        /// Its id.
        call_id: String,
        /// The tool, as the provider writes it.
        tool_name: String,
    },
    /// More of a call's input, as JSON text.
    CallInput {
        /// The call's number.
        index: usize,
        /// What is added.
        fragment: String,
    },
}

/// A provider's text that cannot be read as its format. Never prints what it holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// It is no JSON, or not of the format's shape.
    #[error("is not a {format} document: {reason}")]
    Malformed {
        /// The format.
        format: &'static str,
        /// Where and why, without contents.
        reason: String,
    },
    /// A field has a value that no event can hold.
    #[error("{field}: {reason}")]
    Unusable {
        /// The field, as a path.
        field: String,
        /// Which bound or form it breaks.
        reason: String,
    },
    /// The provider tells of a failure in place of a reply.
    #[error("the provider failed: {error_type}")]
    Failed {
        /// The provider's name of the failure, for an `ErrorOccurred`.
        error_type: String,
        /// What it says of it: may hold contents.
        message: String,
    },
    /// The stream ended before the reply did.
    #[error("the stream ended before the reply did")]
    Incomplete,
}
