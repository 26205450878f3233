//! The result of a round: its counts, or why it was postponed.

use event_log::Unavailable;
use read_model::ReadModelError;
use thiserror::Error;

/// The counts of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Agents with rules.
    pub agents: usize,
    /// Conversations that it erased or archived.
    pub changed: u32,
    /// Conversations that another process changed, or that have new events.
    pub settled: u32,
    /// Failed changes and failed reads of pages.
    pub failed: u32,
    /// Agents that it did not process completely.
    pub left_over: usize,
}

/// Why a round was postponed or ended early.
#[derive(Debug, Error)]
pub enum RoundError {
    /// The rules may be outdated: wait for the registry.
    #[error("the gateway receives no changes of the registry")]
    RegistryStale,
    /// Conversations cannot be counted yet: wait for the projector.
    #[error("the rows are behind the record")]
    RowsBehind,
    /// The gateway's own token is invalid or lacks a scope.
    #[error("the gateway's own token does not allow it")]
    Refused,
    /// The record does not answer.
    #[error("the record is unavailable")]
    Record(#[from] Unavailable),
    /// The rows cannot be read.
    #[error("the rows cannot be read")]
    ReadModel(#[from] ReadModelError),
}
