//! Request that a run stops. Nothing changes if it finished or if the stop was requested before.

use super::{Decision, lifecycle_event};
use crate::event::Lifecycle;
use crate::head::Head;
use crate::id::{CommitId, RunId};
use crate::run::{ActiveRun, RunPhase};

pub(super) fn decide(head: &Head, commit: CommitId, run: RunId) -> Decision {
    let running = ActiveRun { id: run, phase: RunPhase::Running };
    if head.active_run != Some(running) {
        return Decision::Unchanged;
    }
    Decision::Commit(vec![lifecycle_event(commit, Lifecycle::RunStopRequested(run))])
}
