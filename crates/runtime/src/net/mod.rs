//! What servers of every protocol share: connections within a bound, the two steps of an end, and how it went.

mod accept;
pub(crate) mod bounds;
mod drain;
mod transport;

use std::time::Duration;

pub(crate) use accept::{Connection, connections};
pub(crate) use drain::{CutOnDrop, Drain};

/// The longest wait for connections to close once they are cut.
pub const CUT_GRACE: Duration = Duration::from_secs(1);

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Every call in flight was answered.
    Clean,
    /// The time was up, and the calls that were left were cut.
    Cut,
}
