//! Reasons for closed connections, and their metric.

use metrics::counter;

/// The reason of a closed connection: a label of `server_connections_closed_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CloseReason(&'static str);

impl CloseReason {
    /// No request arrived in time.
    pub(super) const HEADERS_TIMEOUT: Self = Self("headers_timeout");
    /// It had no open request for too long.
    pub(super) const IDLE: Self = Self("idle");
    /// The client did not read the response.
    pub(super) const WRITE_TIMEOUT: Self = Self("write_timeout");
    /// Another exchange took the slot.
    pub(super) const PREEMPTED: Self = Self("preempted");
    /// It reached its maximum age, and the grace period passed.
    pub(super) const AGE: Self = Self("age");
    /// The server shut down.
    pub(super) const SHUTDOWN: Self = Self("shutdown");
    /// The client closed it, or violated the protocol.
    pub(super) const CLIENT: Self = Self("client");
    /// Its address has too many connections.
    pub(super) const ADDRESS_LIMIT: Self = Self("address_limit");
}

pub(super) fn count_closed(server: &'static str, CloseReason(reason): CloseReason) {
    counter!("server_connections_closed_total", "server" => server, "reason" => reason).increment(1);
}
