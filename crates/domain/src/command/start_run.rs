//! Start a run: the events that it answers and its start are one commit. A conversation has at most one active run.

use super::append_events::{self, NewEvent};
use super::{Decision, Rejection};
use crate::event::{Lifecycle, RunStarted};
use crate::head::{Head, Status};
use crate::id::CommitId;

/// A run that starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartRun {
    /// The run and its model.
    pub started: RunStarted,
    /// The events to record before it, such as the user's message.
    pub events: Vec<NewEvent>,
}

pub(super) fn decide(head: &Head, commit: CommitId, start: &StartRun) -> Result<Decision, Rejection> {
    if head.status == Status::Archived {
        return Err(Rejection::Archived);
    }
    if let Some(active) = head.active_run {
        return Err(Rejection::RunActive { run: active.id });
    }
    let last = Lifecycle::RunStarted(start.started.clone());
    append_events::followed_by(head, commit, &start.events, last).map(Decision::Commit)
}
