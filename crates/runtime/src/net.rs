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

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;

pub(crate) use accept::Listener;
pub(crate) use addresses::Proxies;
pub use addresses::address_key;
pub(crate) use bodies::{BodyProgress, ReceivedBody};
pub use config::{ConnectionConfig, TransportLimits};
pub(crate) use drain::Drain;
pub(crate) use exchange::{Exchange, Interruption, Slot, Slots, memory_slots};
pub use serve::Peer;
pub(crate) use serve::{Rules, Server};
pub(crate) use stream_task::StreamExecutor;

/// Maximum wait for connections to close at the end of the drain.
pub const CUT_GRACE: Duration = Duration::from_secs(1);

/// A port cannot be bound: the address is in use, or does not belong to this machine.
#[derive(Debug, thiserror::Error)]
#[error("{port} port cannot listen on {addr}")]
pub struct BindError {
    port: &'static str,
    addr: SocketAddr,
    source: io::Error,
}

/// Binds a listener; also returns its address. `port` is its name in errors.
pub(crate) async fn bind(port: &'static str, addr: SocketAddr) -> Result<(TcpListener, SocketAddr), BindError> {
    let failed = |source| BindError { port, addr, source };
    let listener = TcpListener::bind(addr).await.map_err(failed)?;
    let local_addr = listener.local_addr().map_err(failed)?;
    Ok((listener, local_addr))
}

/// The result of a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Every call in flight was answered.
    Clean,
    /// The time for the drain passed, and the remaining connections were closed.
    Cut,
}
