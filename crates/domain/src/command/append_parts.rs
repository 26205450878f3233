//! Publish parts of the active run, also in a conversation that was archived since the run started.

use super::Rejection;
use crate::head::{Head, Status};
use crate::id::{AgentId, RunId};
use crate::part::{RunPart, RunPartKind};
use crate::run::RunPhase;

/// Checks that a conversation with this head accepts these parts of a run of this agent.
///
/// # Errors
/// [`Rejection::NotFound`], also for another agent's conversation; [`Rejection::Erased`]; [`Rejection::RunNotActive`];
/// [`Rejection::RunStopping`] unless the last part is the run's end.
pub fn check_parts(head: Option<&Head>, agent: &AgentId, run: RunId, parts: &[RunPart]) -> Result<(), Rejection> {
    let head = head.filter(|head| head.agent == *agent).ok_or(Rejection::NotFound)?;
    if head.status == Status::Erased {
        return Err(Rejection::Erased);
    }
    let active = head.active_run.filter(|active| active.id == run).ok_or(Rejection::RunNotActive)?;
    let end = parts.last().map(|part| &part.kind);
    match (active.phase, end) {
        (RunPhase::Running, _) | (RunPhase::Stopping, Some(RunPartKind::RunEnded(_))) => Ok(()),
        (RunPhase::Stopping, _) => Err(Rejection::RunStopping),
    }
}
