//! A summary of the history took its place in contexts.

use crate::id::Label;
use crate::position::Version;

/// What happened up to and with `through`, in short: it stands for it in contexts. The history itself stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HistorySummarised {
    /// The last version that it stands for: at least 1, before the summary's own, and later than any earlier summary's.
    pub through: Version,
    /// What happened; 1 to [`crate::bounds::SUMMARY_BYTES_MAX`] bytes.
    pub text: String,
    /// The model that wrote it.
    pub model: Option<Label>,
    /// The version of the summary before it. The decision sets it, whatever an author gives.
    pub previous: Option<Version>,
}
