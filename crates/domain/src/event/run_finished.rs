//! A generation is over.

use crate::id::RunId;
use crate::run::RunOutcome;

/// The end of a generation; what it came to stands before it, in the same commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RunFinished {
    /// The run.
    pub run: RunId,
    /// How it ended.
    pub outcome: RunOutcome,
}
