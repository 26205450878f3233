//! A run started.

use crate::id::{Label, RunId};

/// The start of a run. A conversation has at most one active run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunStarted {
    /// The run.
    pub run: RunId,
    /// The model.
    pub model: Option<Label>,
    /// The provider of the model.
    pub provider: Option<Label>,
}
