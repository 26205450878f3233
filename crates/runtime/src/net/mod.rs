//! The parts that gRPC and HTTP servers share: connections and their limits, exchanges, slots, and the drain.
//!
//! An *exchange* is one request with its response. *Slots* limit the number of concurrent exchanges. The timeouts of a
//! connection have their own timers, which also fire while the transport waits for the client and does not poll our code.

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

pub(crate) use accept::Listener;
pub(crate) use addresses::Proxies;
pub use addresses::address_key;
pub(crate) use bodies::{BodyProgress, ReceivedBody};
pub use config::ConnectionConfig;
pub(crate) use drain::{CutOnDrop, Drain};
pub(crate) use exchange::{Exchange, Interruption, NamedSlots, Slot, Slots};
pub use serve::Peer;
pub(crate) use serve::{Rules, Server};
pub(crate) use stream_task::StreamExecutor;

/// Maximum wait for connections to close at the end of the drain.
pub const CUT_GRACE: Duration = Duration::from_secs(1);

/// The result of a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Every call in flight was answered.
    Clean,
    /// The time for the drain passed, and the remaining connections were closed.
    Cut,
}
