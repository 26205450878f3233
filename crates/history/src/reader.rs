//! The dependencies of reads.

use std::time::Duration;

use event_log::Record;
use read_model::ReadModel;

/// The record, the read model and the timeout of fences. Clones share them.
#[derive(Debug, Clone)]
pub struct Reader {
    /// The record.
    pub record: Record,
    /// The read model.
    pub read_model: ReadModel,
    /// The longest wait until a fence is reached.
    pub fence_wait: Duration,
}
