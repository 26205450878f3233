//! Something failed.

use crate::id::Label;

/// A model's error, a rate limit, a failed run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ErrorOccurred {
    /// What kind of failure: a short stable name.
    pub error_type: Label,
    /// What was said of it, verbatim.
    pub message: String,
}
