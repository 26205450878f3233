//! The system recorded a note.

use crate::id::Label;

/// An internal note, such as a truncation. Models do not read it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SystemNoted {
    /// Its topic: a short stable name.
    pub topic: Option<Label>,
    /// The note, verbatim.
    pub text: String,
}
