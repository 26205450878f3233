//! Errors of the record, by what the caller can do about them.

use domain::Sequence;
use thiserror::Error;
use wire::commit::CorruptCommit;

/// The delay before a retry, in milliseconds.
pub(crate) const RETRY_AFTER_MS: u64 = 250;

/// The record did not answer in time, or answered that it cannot. Retry the call; an append with the same commit id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the record is unavailable: {what}")]
pub struct Unavailable {
    /// The operation that failed.
    pub what: &'static str,
    /// The delay before a retry, in milliseconds.
    pub retry_after_ms: u64,
}

impl Unavailable {
    /// The record is not the one that is known: it was replaced, or has lost commits.
    pub(crate) const DIVERGED: Self = Self {
        what: "it is not the record that the rows were computed from, or has lost commits of it; see hansard status",
        retry_after_ms: 5_000,
    };

    /// The record does not answer what failed.
    #[must_use]
    pub const fn new(what: &'static str) -> Self {
        Self { what, retry_after_ms: RETRY_AFTER_MS }
    }

    /// Whether the record is not the one that is known. A retry helps only after an operator's decision.
    #[must_use]
    pub fn is_diverged(&self) -> bool {
        *self == Self::DIVERGED
    }
}

/// A message of the record that is not a commit. An operator must inspect it; it is never skipped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("message {sequence} of stream {stream} is corrupt")]
pub struct CorruptMessage {
    /// The stream.
    pub stream: String,
    /// The sequence of the message.
    pub sequence: Sequence,
    /// The cause.
    #[source]
    pub source: CorruptCommit,
}

/// Errors of opening or creating a record.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The configuration is invalid.
    #[error("{field} {problem}")]
    Configuration {
        /// The field of [`crate::RecordConfig`].
        field: &'static str,
        /// The problem and its remedy.
        problem: String,
    },
    /// The record has another number of partitions.
    #[error("the record has {recorded} partitions, {configured} are configured: configure {recorded}")]
    PartitionMismatch {
        /// The configured number.
        configured: u16,
        /// The number in the streams' metadata.
        recorded: u16,
    },
    /// The record does not exist, or is incomplete.
    #[error("the stream {stream} is missing: create the record by starting a writer")]
    Missing {
        /// The first stream that is missing.
        stream: String,
    },
    /// The server has an unfinished restore, which must end first.
    #[error(
        "the server has an unfinished restore of a backup ({backup}): run the same `hansard restore` again to finish it"
    )]
    Restoring {
        /// The name of the backup.
        backup: String,
    },
    /// A stream with a name of the record has another configuration.
    #[error("the stream {stream} {problem}")]
    Foreign {
        /// The stream.
        stream: String,
        /// The difference.
        problem: String,
    },
    /// The server can lose acknowledged commits when the power fails.
    #[error("the server is not durable: {why}; set sync_interval to always, or start with --accept-data-loss")]
    NotDurable {
        /// The reason.
        why: String,
    },
    /// The server rejected a request to create or read a stream.
    #[error("the server rejected {what}: {reason}")]
    Refused {
        /// The request.
        what: String,
        /// The server's error text.
        reason: String,
    },
    /// The server did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}
