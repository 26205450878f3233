//! The state and the outcome of a run.

use crate::id::RunId;

/// The active run of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ActiveRun {
    /// The run.
    pub id: RunId,
    /// Its phase.
    pub phase: RunPhase,
}

/// The phase of an active run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunPhase {
    /// It is running.
    Running,
    /// A stop was requested: only its end is accepted.
    Stopping,
}

/// How a run ended. The events that it produced until then are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunOutcome {
    /// The model finished.
    Completed,
    /// A caller stopped it.
    Stopped,
    /// The model failed.
    Failed,
    /// Its gateway disappeared.
    Abandoned,
}

impl RunOutcome {
    /// Every outcome.
    pub const ALL: [Self; 4] = [Self::Completed, Self::Stopped, Self::Failed, Self::Abandoned];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
        }
    }
}
