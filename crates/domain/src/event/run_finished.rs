//! A run finished.

use crate::id::RunId;
use crate::run::RunOutcome;

/// The end of a run. The events that it produced precede it in the same commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RunFinished {
    /// The run.
    pub run: RunId,
    /// How it ended.
    pub outcome: RunOutcome,
}
