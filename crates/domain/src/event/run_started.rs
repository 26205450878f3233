//! A model began to generate.

use crate::id::{Label, RunId};

/// A generation that began; one at a time goes on in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunStarted {
    /// The run.
    pub run: RunId,
    /// The model.
    pub model: Option<Label>,
    /// Whose model it is.
    pub provider: Option<Label>,
}
