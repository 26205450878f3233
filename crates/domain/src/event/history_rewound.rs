//! The history continues from an earlier version.

use crate::position::Version;

/// From here on the history continues from version `to`: contexts and pages skip the events between. The events stay in
/// the record, and a fork from one of their versions still reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HistoryRewound {
    /// The last version that stays visible; at least 1, and before the event's own.
    pub to: Version,
}
