//! Reasons for closed connections, and their metric.

use metrics::counter;

/// The reason of a closed connection: a label of `server_connections_closed_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// No request arrived in time.
    HeadersTimeout,
    /// It had no open request for too long.
    Idle,
    /// The client did not read the response.
    WriteTimeout,
    /// Another exchange took the slot.
    Preempted,
    /// It reached its maximum age, and the grace period passed.
    Age,
    /// The server shut down.
    Shutdown,
    /// The client closed it, or violated the protocol.
    Client,
    /// Its address has too many connections.
    AddressLimit,
}

impl CloseReason {
    const fn as_str(self) -> &'static str {
        match self {
            Self::HeadersTimeout => "headers_timeout",
            Self::Idle => "idle",
            Self::WriteTimeout => "write_timeout",
            Self::Preempted => "preempted",
            Self::Age => "age",
            Self::Shutdown => "shutdown",
            Self::Client => "client",
            Self::AddressLimit => "address_limit",
        }
    }
}

/// Counts a closed connection.
pub(super) fn count_closed(server: &'static str, reason: CloseReason) {
    let reason = reason.as_str();
    counter!("server_connections_closed_total", "server" => server, "reason" => reason)
        .increment(1);
}
