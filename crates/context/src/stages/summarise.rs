//! Summarise: the opening, which replaces omitted turns by the newest summary or by a note.

use domain::{Label, Version};

/// A summary of the beginning of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The version of the event that holds it.
    pub version: Version,
    /// The last version that it covers.
    pub through: Version,
    /// Its text.
    pub text: String,
    /// The model that wrote it.
    pub model: Option<Label>,
}

/// The note that turns were omitted without a summary.
pub const LEFT_OUT: &str = "[Earlier messages of this conversation are left out.]";
/// The first line of a summary.
const SUMMARISED: &str = "[Summary of the conversation so far]";

/// Whether turns are missing before the first turn, or between the summary and the first turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// No turns are missing.
    None,
    /// Turns are missing.
    LeftOut,
}

/// The opening of a context.
#[must_use]
pub fn opening(summary: Option<&Summary>, gap: Gap) -> Option<String> {
    match (summary, gap) {
        (None, Gap::None) => None,
        (None, Gap::LeftOut) => Some(LEFT_OUT.to_owned()),
        (Some(summary), Gap::None) => Some(summarised(summary)),
        (Some(summary), Gap::LeftOut) => Some(format!("{}\n\n{LEFT_OUT}", summarised(summary))),
    }
}

fn summarised(summary: &Summary) -> String {
    format!("{SUMMARISED}\n{}", summary.text)
}
