//! What stands for the turns that are left out: the newest summary, or an honest note.

use domain::{Label, Version};

/// A summary of a conversation's beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The version of the event that holds it.
    pub version: Version,
    /// The last version that it stands for.
    pub through: Version,
    /// What it says.
    pub text: String,
    /// The model that wrote it.
    pub model: Option<Label>,
}

/// What tells that turns were left out with nothing in their place.
pub const LEFT_OUT: &str = "[Earlier messages of this conversation are left out.]";
/// What begins a summary.
const SUMMARISED: &str = "[Summary of the conversation so far]";

/// Turns between the summary and the first one kept, or before the first one kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// There are none.
    None,
    /// There are.
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
