//! The system took note of something.

use crate::id::Label;

/// An internal note, such as a truncation; models do not see it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SystemNoted {
    /// What it is about: a short stable name.
    pub topic: Option<Label>,
    /// The note, verbatim.
    pub text: String,
}
