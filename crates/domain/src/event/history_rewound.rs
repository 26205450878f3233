//! The conversation went on from an earlier version.

use crate::position::Version;

/// From here on the history reads as it did at version `to`: contexts and pages pass over the events between. The events
/// themselves stay in the record, and a fork of one of their versions still reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HistoryRewound {
    /// The last version that is still read; at least 1, and before the event's own.
    pub to: Version,
}
