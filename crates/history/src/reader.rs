//! What every read needs.

use std::time::Duration;

use event_log::Record;
use read_model::ReadModel;

/// The record, the rows, and how long to wait for a position. Clones share them.
#[derive(Debug, Clone)]
pub struct Reader {
    /// The record.
    pub record: Record,
    /// The rows.
    pub read_model: ReadModel,
    /// The longest wait until a fence is reached.
    pub fence_wait: Duration,
}
