//! Why connections are closed, and the count of it.

use metrics::counter;

/// Why a server closes a connection: a label of `server_connections_closed_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// No request arrived in time.
    HeadersTimeout,
    /// Nothing was open for too long.
    Idle,
    /// Nobody took what was written.
    WriteTimeout,
    /// Its exchange lost its slot.
    Preempted,
    /// It reached its maximum age, and the grace passed.
    Age,
    /// The server ended.
    Shutdown,
    /// The client closed it, or broke the protocol.
    Client,
    /// Its address has too many.
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

/// Counts a connection that is closed.
pub(super) fn closed(server: &'static str, reason: CloseReason) {
    let reason = reason.as_str();
    counter!("server_connections_closed_total", "server" => server, "reason" => reason)
        .increment(1);
}
