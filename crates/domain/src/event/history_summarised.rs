//! The history up to a version was summarised.

use crate::id::Label;
use crate::position::Version;

/// A summary of the history through a version. Contexts contain it in place of those events. The history does not change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HistorySummarised {
    /// The last version that it covers: at least 1, before the summary's own, and later than any earlier summary's.
    pub through: Version,
    /// The summary; 1 to [`crate::bounds::SUMMARY_BYTES_MAX`] bytes.
    pub text: String,
    /// The model that wrote it.
    pub model: Option<Label>,
    /// The version of the previous summary. The decision sets it and ignores the caller's value.
    pub previous: Option<Version>,
}
