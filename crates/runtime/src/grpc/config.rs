//! The settings of a gRPC server, and their bounds.

use std::net::{Ipv4Addr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::config::{Bounds, Checks, Validate};
use crate::net::bounds::{CONNECTIONS, DRAIN, STREAMS};
use crate::net::{ConnectionConfig, TransportLimits};
use crate::tls::TlsConfig;

const CALLS: Bounds<usize> = Bounds::new(1..=1_000_000, "calls");

/// Maximum duration of a unary call.
const fn unary_timeout_ms() -> u64 {
    10_000
}

/// Maximum bytes of the requests of all unary calls.
const fn bodies_bytes_max() -> usize {
    256 * 1024 * 1024
}

/// The settings of a gRPC server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrpcConfig {
    /// The address to listen on. Port 0 picks a free port.
    pub addr: SocketAddr,
    /// Maximum duration of a unary call, in ms. A caller can set a shorter deadline. It is no setting: what a call waits for has
    /// shorter timeouts.
    #[serde(skip, default = "unary_timeout_ms")]
    pub unary_timeout_ms: u64,
    /// Maximum bytes of the requests of all calls in memory, without client streams and the first 64 KiB of each. Further calls are
    /// rejected with `RESOURCE_EXHAUSTED`, unless another one waits for its client. It is no setting.
    #[serde(skip, default = "bodies_bytes_max")]
    pub bodies_bytes_max: usize,
    /// Maximum number of concurrent unary calls. Further calls are rejected with `RESOURCE_EXHAUSTED`. Raise it if calls are
    /// rejected and the processors are idle.
    pub calls_max: usize,
    /// Maximum number of open streaming calls. Further calls are rejected with `RESOURCE_EXHAUSTED`. Raise it if streams
    /// are rejected and memory is free.
    pub streams_max: usize,
    /// Maximum number of open connections. Further connections wait until one closes. Raise it together with the limit
    /// of open files.
    pub connections_max: usize,
    /// Maximum time for calls in flight after the shutdown begins, in ms. Then their connections are closed. Raise
    /// it if calls are cut at a restart.
    pub drain_ms: u64,
    /// Whether gRPC reflection is on. Everyone who reaches the port can then list the services. Turn it
    /// off where others than your own services reach the port.
    pub reflection: bool,
    /// The limits of each connection.
    pub connection: ConnectionConfig,
    /// Further limits of each connection and of the bodies, which are no settings.
    #[serde(skip, default = "TransportLimits::internal")]
    pub transport: TransportLimits,
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
            unary_timeout_ms: unary_timeout_ms(),
            bodies_bytes_max: bodies_bytes_max(),
            calls_max: 2048,
            streams_max: 4096,
            connections_max: 4096,
            drain_ms: 10_000,
            reflection: true,
            connection: ConnectionConfig::INTERNAL,
            transport: TransportLimits::INTERNAL,
            tls: TlsConfig::OFF,
        }
    }
}

impl Validate for GrpcConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.bounds("calls_max", self.calls_max, &CALLS);
        checks.bounds("streams_max", self.streams_max, &STREAMS);
        checks.bounds("connections_max", self.connections_max, &CONNECTIONS);
        checks.bounds("drain_ms", self.drain_ms, &DRAIN);
        checks.section("connection", &self.connection);
        checks.section("tls", &self.tls);
    }
}
