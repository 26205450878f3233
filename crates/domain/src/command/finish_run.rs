//! Finish a run: its events and its end are one commit, also in a conversation that was archived since the run started.

use super::append_events::{self, NewEvent};
use super::{Decision, Rejection};
use crate::event::{Lifecycle, RunFinished};
use crate::head::Head;
use crate::id::CommitId;

/// A run that finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishRun {
    /// The run and how it ended.
    pub finished: RunFinished,
    /// The events that it produced.
    pub events: Vec<NewEvent>,
}

pub(super) fn decide(head: &Head, commit: CommitId, finish: &FinishRun) -> Result<Decision, Rejection> {
    if head.active_run.map(|active| active.id) != Some(finish.finished.run) {
        return Err(Rejection::RunNotActive);
    }
    let last = Lifecycle::RunFinished(finish.finished);
    append_events::followed_by(head, commit, &finish.events, last).map(Decision::Commit)
}
