//! Start a generation: with what it answers, as one commit; one at a time.

use super::append_events::{self, NewEvent};
use super::{Decision, Rejection};
use crate::event::{Lifecycle, RunStarted};
use crate::head::{Head, Status};
use crate::id::CommitId;

/// A generation that is to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartRun {
    /// The run and its model.
    pub started: RunStarted,
    /// What is recorded before it, such as the user's message.
    pub events: Vec<NewEvent>,
}

pub(super) fn decide(
    head: &Head,
    commit: CommitId,
    start: &StartRun,
) -> Result<Decision, Rejection> {
    if head.status == Status::Archived {
        return Err(Rejection::Archived);
    }
    if let Some(active) = head.active_run {
        return Err(Rejection::RunActive { run: active.id });
    }
    let last = Lifecycle::RunStarted(start.started.clone());
    append_events::ended_by(head, commit, &start.events, last).map(Decision::Commit)
}
