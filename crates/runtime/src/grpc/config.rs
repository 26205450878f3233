//! The settings of a gRPC server, and their bounds.

use std::net::{Ipv4Addr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::config::{Bounds, Checks, Validate};
use crate::net::bounds::{CONNECTIONS, DRAIN, PROGRESS, RETRY_AFTER, STREAMS, TIMEOUT};
use crate::net::{BodyProgress, ConnectionConfig};
use crate::tls::TlsConfig;

const CALLS: Bounds<usize> = Bounds::new(1..=1_000_000, "calls");
const CONNECTION_STREAMS: Bounds<u32> = Bounds::new(1..=100_000, "streams");
const MESSAGE: Bounds<usize> = Bounds::new(1024..=64 * 1024 * 1024, "bytes");
/// The interval of PINGs, and the wait for the reply.
const PING: Bounds<u64> = Bounds::new(100..=3_600_000, "ms");

/// The settings of a gRPC server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrpcConfig {
    /// The address to listen on. Port 0 picks a free port.
    pub addr: SocketAddr,
    /// Maximum duration of a unary call, in ms. A caller can set a shorter deadline.
    pub unary_timeout_ms: u64,
    /// Maximum number of concurrent unary calls. Further calls are rejected with `RESOURCE_EXHAUSTED`.
    pub calls_max: usize,
    /// Maximum number of open streaming calls. Further calls are rejected with `RESOURCE_EXHAUSTED`.
    pub streams_max: usize,
    /// Maximum number of open connections. Further connections wait until one closes.
    pub connections_max: usize,
    /// Maximum number of concurrent calls on one connection. Further calls wait in the client.
    pub connection_streams_max: u32,
    /// Maximum size of a request message, in bytes.
    pub message_bytes_max: usize,
    /// Interval in which at least `body_progress_bytes_min` of a request must arrive, in ms. Slower calls end with
    /// `DEADLINE_EXCEEDED`. A stream of requests may pause between two messages.
    pub body_progress_timeout_ms: u64,
    /// Minimum number of bytes of a request that must arrive in each `body_progress_timeout_ms`, unless the request ends.
    pub body_progress_bytes_min: usize,
    /// Time without traffic on a connection after which the server sends a PING, in ms.
    pub keepalive_interval_ms: u64,
    /// Maximum wait for the reply to a PING, in ms. Then the connection is closed.
    pub keepalive_timeout_ms: u64,
    /// Maximum time for calls in flight after the shutdown begins, in ms. Then their connections are closed.
    pub drain_ms: u64,
    /// Retry delay that rejected callers get in `RetryInfo`, in ms.
    pub retry_after_ms: u64,
    /// Whether gRPC reflection is on. Everyone who reaches the port can then list the services.
    pub reflection: bool,
    /// The limits of each connection.
    pub connection: ConnectionConfig,
    /// The TLS files. Without them, connections are plain.
    pub tls: TlsConfig,
}

impl Default for GrpcConfig {
    fn default() -> Self {
        Self::at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }
}

impl GrpcConfig {
    /// The defaults with the address `addr`.
    #[must_use]
    pub const fn at(addr: SocketAddr) -> Self {
        Self {
            addr,
            unary_timeout_ms: 10_000,
            calls_max: 2048,
            streams_max: 4096,
            connections_max: 4096,
            connection_streams_max: 1024,
            message_bytes_max: 4 * 1024 * 1024,
            body_progress_timeout_ms: 5_000,
            body_progress_bytes_min: 1024,
            keepalive_interval_ms: 20_000,
            keepalive_timeout_ms: 10_000,
            drain_ms: 10_000,
            retry_after_ms: 100,
            reflection: true,
            connection: ConnectionConfig::INTERNAL,
            tls: TlsConfig::OFF,
        }
    }

    pub(super) const fn body_progress(&self) -> BodyProgress {
        BodyProgress::new(self.body_progress_timeout_ms, self.body_progress_bytes_min)
    }
}

impl Validate for GrpcConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.bounds("unary_timeout_ms", self.unary_timeout_ms, &TIMEOUT);
        checks.bounds("calls_max", self.calls_max, &CALLS);
        checks.bounds("streams_max", self.streams_max, &STREAMS);
        checks.bounds("connections_max", self.connections_max, &CONNECTIONS);
        checks.bounds("connection_streams_max", self.connection_streams_max, &CONNECTION_STREAMS);
        checks.bounds("message_bytes_max", self.message_bytes_max, &MESSAGE);
        let (timeout_ms, bytes_min) = (self.body_progress_timeout_ms, self.body_progress_bytes_min);
        checks.bounds("body_progress_timeout_ms", timeout_ms, &TIMEOUT);
        checks.bounds("body_progress_bytes_min", bytes_min, &PROGRESS);
        checks.bounds("keepalive_interval_ms", self.keepalive_interval_ms, &PING);
        checks.bounds("keepalive_timeout_ms", self.keepalive_timeout_ms, &PING);
        checks.bounds("drain_ms", self.drain_ms, &DRAIN);
        checks.bounds("retry_after_ms", self.retry_after_ms, &RETRY_AFTER);
        checks.section("connection", &self.connection);
        checks.section("tls", &self.tls);
    }
}
