//! Generations by models, as conversations know them.

use crate::id::RunId;

/// The generation under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ActiveRun {
    /// The run.
    pub id: RunId,
    /// Whether it goes on or was asked to stop.
    pub phase: RunPhase,
}

/// How far a generation under way has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunPhase {
    /// It goes on.
    Running,
    /// It was asked to stop: no more parts are taken but its end.
    Stopping,
}

/// How a generation ended. Whatever it had said by then is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunOutcome {
    /// The model said all that it had to say.
    Completed,
    /// Somebody asked it to stop.
    Stopped,
    /// The model failed.
    Failed,
    /// Whoever made it was gone.
    Abandoned,
}
