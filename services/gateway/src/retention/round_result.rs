//! The result of a round: its counts, or why it was put off.

use event_log::Unavailable;
use read_model::ReadModelError;
use thiserror::Error;

/// What a round came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Agents with rules.
    pub agents: usize,
    /// Conversations that it erased or archived.
    pub changed: u32,
    /// Conversations that somebody else changed before, or that have changed since their row was written.
    pub settled: u32,
    /// Conversations, or agents' pages of them, that it could not change or read.
    pub failed: u32,
    /// Agents of which it did not see all.
    pub left_over: usize,
}

/// Why a round was not done, or not to its end.
#[derive(Debug, Error)]
pub enum RoundError {
    /// Rules may have been changed since: wait for the registry.
    #[error("changes of the registry do not arrive")]
    RegistryStale,
    /// What is to be kept cannot be told: wait for the projector.
    #[error("the rows do not hold all that is recorded")]
    RowsBehind,
    /// The gateway's own token is none, or lacks a scope.
    #[error("the gateway's own token does not allow it")]
    Refused,
    /// The record does not answer.
    #[error("the record cannot be looked at")]
    Record(#[from] Unavailable),
    /// The rows cannot be read.
    #[error("the rows cannot be read")]
    ReadModel(#[from] ReadModelError),
}
