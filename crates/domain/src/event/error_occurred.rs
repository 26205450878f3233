//! An error occurred.

use crate::id::Label;

/// A model's error, a rate limit, a failed run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ErrorOccurred {
    /// The kind of error: a short stable name.
    pub error_type: Label,
    /// Its message, verbatim.
    pub message: String,
}
