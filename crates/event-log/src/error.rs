//! What can go wrong with the record, by what the caller can do about it.

use domain::Sequence;
use thiserror::Error;
use wire::commit::CorruptCommit;

/// How long a caller should wait before it tries again, in milliseconds.
pub(crate) const RETRY_AFTER_MS: u64 = 250;

/// The record did not answer in time, or answered that it cannot. The same call may be made again, an append under the
/// same commit id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the record is unavailable: {what}")]
pub struct Unavailable {
    /// What did not happen.
    pub what: &'static str,
    /// How long to wait before trying again, in milliseconds.
    pub retry_after_ms: u64,
}

impl Unavailable {
    pub(crate) const fn new(what: &'static str) -> Self {
        Self {
            what,
            retry_after_ms: RETRY_AFTER_MS,
        }
    }
}

/// A message of the record that is no commit: an operator must look at it. It is never skipped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the message {sequence} of stream {stream} is corrupt")]
pub struct CorruptMessage {
    /// The stream.
    pub stream: String,
    /// The message.
    pub sequence: Sequence,
    /// What is wrong with it.
    #[source]
    pub source: CorruptCommit,
}

/// Why a record cannot be opened.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The configuration cannot work.
    #[error("{field} {problem}")]
    Configuration {
        /// The field of [`crate::RecordConfig`].
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The record was made with another number of partitions.
    #[error(
        "the record has {recorded} partitions, {configured} are configured: configure {recorded}"
    )]
    PartitionMismatch {
        /// What this process was told.
        configured: u16,
        /// What the streams say.
        recorded: u16,
    },
    /// There is no record, or not all of it.
    #[error("the stream {stream} is missing: create the record by starting a writer")]
    Missing {
        /// The first stream that is missing.
        stream: String,
    },
    /// A stream of the record's name belongs to something else.
    #[error("the stream {stream} {problem}")]
    Foreign {
        /// The stream.
        stream: String,
        /// What does not fit.
        problem: String,
    },
    /// The server would lose acknowledged commits when the power fails.
    #[error(
        "the server is not durable: {why}; set sync_interval to always, or start with --accept-data-loss"
    )]
    NotDurable {
        /// What was seen.
        why: String,
    },
    /// The server refused to make or show a stream.
    #[error("the server refused {what}: {reason}")]
    Refused {
        /// What was asked of it.
        what: String,
        /// Its words.
        reason: String,
    },
    /// The server did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}
