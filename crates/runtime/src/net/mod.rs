//! What servers of every protocol share: connections within bounds, their exchanges, slots, the drain, and how it went.
//!
//! An *exchange* is one request with its response. A *slot* bounds how many exchanges are at work. The bounds of a connection
//! are driven by timers of their own: they fire also while the transport waits for its client and polls nothing of ours.

mod accept;
mod addresses;
mod bodies;
pub(crate) mod bounds;
mod close_reason;
mod config;
mod drain;
mod exchange;
mod lifetime;
mod messages;
mod saturation;
mod serve;
mod stream_task;
mod transport;

use std::time::Duration;

pub(crate) use accept::Listening;
pub(crate) use addresses::Proxies;
pub use addresses::address_key;
pub(crate) use bodies::{BodyProgress, ReceivedBody};
pub use config::ConnectionConfig;
pub(crate) use drain::{CutOnDrop, Drain};
pub(crate) use exchange::{Exchange, Interruption, NamedSlots, Slot, Slots};
pub use serve::Peer;
pub(crate) use serve::{Rules, serve};
pub(crate) use stream_task::StreamExecutor;

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
