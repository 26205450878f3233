//! The settings of a gRPC server, and their bounds.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::{Bounds, Checks, Validate};
use crate::net::bounds::{CONNECTIONS, DRAIN, PROGRESS, RETRY_AFTER, STREAMS, TIMEOUT};
use crate::net::{BodyProgress, ConnectionConfig};
use crate::tls::TlsConfig;

const CALLS: Bounds<usize> = Bounds {
    min: 1,
    max: 1_000_000,
    unit: "calls",
};
const CONNECTION_STREAMS: Bounds<u32> = Bounds {
    min: 1,
    max: 100_000,
    unit: "streams",
};
const MESSAGE: Bounds<usize> = Bounds {
    min: 1024,
    max: 64 * 1024 * 1024,
    unit: "bytes",
};
const KEEPALIVE: Bounds<u64> = Bounds {
    min: 100,
    max: 3_600_000,
    unit: "ms",
};

/// The settings of a gRPC server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrpcConfig {
    /// Where to listen; port 0 takes a free one.
    pub addr: SocketAddr,
    /// The longest time that a unary call may take, in ms; a caller may ask for less.
    pub unary_timeout_ms: u64,
    /// The most unary calls at work at once; more are shed with `RESOURCE_EXHAUSTED`.
    pub calls_max: usize,
    /// The most streaming calls open at once; more are shed with `RESOURCE_EXHAUSTED`.
    pub streams_max: usize,
    /// The most connections at once; more wait to be accepted.
    pub connections_max: usize,
    /// The most calls at once on one connection; more wait at the caller.
    pub connection_streams_max: u32,
    /// The largest message taken, in bytes. Each service's constructor applies it, by
    /// `max_decoding_message_size`.
    pub message_bytes_max: usize,
    /// How long the server waits for more of a request, in ms: at least `body_progress_bytes_min` must arrive meanwhile. A
    /// stream of requests may pause between two messages.
    pub body_progress_timeout_ms: u64,
    /// The least that must arrive of a request in each `body_progress_timeout_ms`, in bytes, unless it ends.
    pub body_progress_bytes_min: usize,
    /// How long a connection may be silent before it is asked for a sign of life, in ms.
    pub keepalive_interval_ms: u64,
    /// How long the sign may take before the connection is closed, in ms.
    pub keepalive_timeout_ms: u64,
    /// How long calls in flight may go on once the server ends, in ms; then they are cut.
    pub drain_ms: u64,
    /// When a shed caller should try again, in ms, as told in its `RetryInfo`.
    pub retry_after_ms: u64,
    /// Whether anybody who reaches the port may read which services there are, by gRPC reflection.
    pub reflection: bool,
    /// The bounds of each connection.
    pub connection: ConnectionConfig,
    /// The files of its TLS; none: plain connections.
    pub tls: TlsConfig,
}

impl Default for GrpcConfig {
    fn default() -> Self {
        Self::at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }
}

impl GrpcConfig {
    /// The defaults, listening at `addr`.
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

    pub(super) const fn unary_timeout(&self) -> Duration {
        Duration::from_millis(self.unary_timeout_ms)
    }

    pub(super) const fn body_progress(&self) -> BodyProgress {
        BodyProgress {
            timeout: Duration::from_millis(self.body_progress_timeout_ms),
            bytes_min: self.body_progress_bytes_min,
        }
    }

    pub(super) const fn drain(&self) -> Duration {
        Duration::from_millis(self.drain_ms)
    }
}

impl Validate for GrpcConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.bounds("unary_timeout_ms", self.unary_timeout_ms, &TIMEOUT);
        checks.bounds("calls_max", self.calls_max, &CALLS);
        checks.bounds("streams_max", self.streams_max, &STREAMS);
        checks.bounds("connections_max", self.connections_max, &CONNECTIONS);
        checks.bounds(
            "connection_streams_max",
            self.connection_streams_max,
            &CONNECTION_STREAMS,
        );
        checks.bounds("message_bytes_max", self.message_bytes_max, &MESSAGE);
        checks.bounds(
            "body_progress_timeout_ms",
            self.body_progress_timeout_ms,
            &TIMEOUT,
        );
        checks.bounds(
            "body_progress_bytes_min",
            self.body_progress_bytes_min,
            &PROGRESS,
        );
        checks.bounds(
            "keepalive_interval_ms",
            self.keepalive_interval_ms,
            &KEEPALIVE,
        );
        checks.bounds(
            "keepalive_timeout_ms",
            self.keepalive_timeout_ms,
            &KEEPALIVE,
        );
        checks.bounds("drain_ms", self.drain_ms, &DRAIN);
        checks.bounds("retry_after_ms", self.retry_after_ms, &RETRY_AFTER);
        checks.section("connection", &self.connection);
        checks.section("tls", &self.tls);
    }
}
