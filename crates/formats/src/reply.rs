//! Replies of providers as facts.

use domain::{Fact, FieldPath, Violation};

/// A reply: the assistant message with usage and finish reason, then its calls, in order.
///
/// There is always a message; it has no parts if the model only calls tools. Message and calls name the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The facts, to be appended as one commit.
    pub facts: Vec<Fact>,
}

/// The addition of a streamed piece to a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// More text.
    Text(String),
    /// More text of a thought.
    Thinking(String),
    /// More text of a refusal.
    Refusal(String),
    /// A call starts. Calls are numbered from 0 in the order of their starts.
    CallBegan {
        /// The number of the call.
        index: usize,
        /// The id of the call.
        call_id: String,
        /// The tool, as the provider writes it.
        tool_name: String,
    },
    /// More JSON text of the input of a call.
    CallInput {
        /// The number of the call.
        index: usize,
        /// The added text.
        fragment: String,
    },
}

/// A text of a provider that cannot be parsed. `Display` shows no contents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text is not JSON, or does not have the structure of the format.
    #[error("is not a {format} document: {reason}")]
    Malformed {
        /// The format.
        format: &'static str,
        /// The position and the cause, without contents.
        reason: String,
    },
    /// A field has a value that an event cannot contain.
    #[error("{field}: {reason}")]
    Unusable {
        /// The path of the field.
        field: FieldPath,
        /// The broken bound or rule.
        reason: String,
    },
    /// The provider returned an error instead of a reply.
    #[error("the provider failed: {error_type}")]
    Failed {
        /// The provider's name of the error, for an `ErrorOccurred`.
        error_type: String,
        /// The provider's message. It may contain message content.
        message: String,
    },
    /// The stream ended before the reply was complete.
    #[error("the stream ended before the reply did")]
    Incomplete,
}

impl ParseError {
    pub(crate) fn malformed(format: &'static str, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Malformed { format, reason }
    }

    pub(crate) fn unusable(field: impl Into<FieldPath>, violation: Violation) -> Self {
        Self::Unusable { field: field.into(), reason: violation.description }
    }
}
