//! Finish a generation: what it came to and its end, as one commit, also in a conversation that was archived meanwhile.

use super::append_events::{self, NewEvent};
use super::{Decision, Rejection};
use crate::event::{Lifecycle, RunFinished};
use crate::head::Head;
use crate::id::CommitId;

/// A generation that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishRun {
    /// The run and how it ended.
    pub finished: RunFinished,
    /// What it came to.
    pub events: Vec<NewEvent>,
}

pub(super) fn decide(
    head: &Head,
    commit: CommitId,
    finish: &FinishRun,
) -> Result<Decision, Rejection> {
    if head.active_run.map(|active| active.id) != Some(finish.finished.run) {
        return Err(Rejection::RunNotActive);
    }
    let last = Lifecycle::RunFinished(finish.finished);
    append_events::ended_by(head, commit, &finish.events, last).map(Decision::Commit)
}
