//! Ask a generation to stop. One that is over, or was asked already, is left as it is.

use super::{Decision, lifecycle_event};
use crate::event::Lifecycle;
use crate::head::Head;
use crate::id::{CommitId, RunId};
use crate::run::{ActiveRun, RunPhase};

pub(super) fn decide(head: &Head, commit: CommitId, run: RunId) -> Decision {
    let runs = ActiveRun {
        id: run,
        phase: RunPhase::Running,
    };
    if head.active_run != Some(runs) {
        return Decision::Unchanged;
    }
    Decision::Commit(vec![lifecycle_event(
        commit,
        Lifecycle::RunStopRequested(run),
    )])
}
