//! The settings of an HTTP server, and their bounds.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::{Bounds, Checks, Validate};
use crate::net::bounds::{CONNECTIONS, DRAIN, STREAMS, TIMEOUT};
use crate::net::{ConnectionConfig, TransportLimits};
use crate::tls::TlsConfig;

const BODY: Bounds<usize> = Bounds::new(1024..=64 * 1024 * 1024, "bytes");
const BODIES: Bounds<usize> = Bounds::new(64 * 1024 * 1024..=64 * 1024 * 1024 * 1024, "bytes");
const REQUESTS: Bounds<usize> = Bounds::new(1..=1_000_000, "requests");

/// Maximum size of request line and headers.
const fn header_bytes_max() -> usize {
    32 * 1024
}

/// Retry delay of rejected callers.
const fn retry_after_ms() -> u64 {
    1_000
}

/// The settings of an HTTP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpConfig {
    /// The address to listen on. Port 0 picks a free port.
    pub addr: SocketAddr,
    /// Maximum duration of a request with its body until its response is complete in memory, in ms. Streams have no maximum. How
    /// slowly a client may read is bounded separately: 20 s without a read byte close the connection. Raise it for large bodies over
    /// slow networks.
    pub request_timeout_ms: u64,
    /// Maximum time to receive the headers of a request, in ms. An HTTP/1.1 connection may also be idle for this time.
    /// Raise it above the idle timeout of a proxy that keeps HTTP/1.1 connections open.
    pub header_timeout_ms: u64,
    /// Maximum size of request line and headers, in bytes: names, values and four bytes per header. It is no setting.
    #[serde(skip, default = "header_bytes_max")]
    pub header_bytes_max: usize,
    /// Maximum size of a request body, in bytes. Raise it for larger messages and documents.
    pub body_bytes_max: usize,
    /// Maximum bytes of all request and response bodies in memory, without streams and the first 64 KiB of each. Further bodies are
    /// rejected with 503, unless another one waits for its client. Set it to the share of the memory that bodies may have.
    pub bodies_bytes_max: usize,
    /// Maximum number of concurrent requests, without streams. Further requests are rejected with 503. Raise it if requests are
    /// rejected and the processors are idle.
    pub requests_max: usize,
    /// Maximum number of open streams. Further streams are rejected with 503. Raise it if streams are rejected and memory is
    /// free.
    pub streams_max: usize,
    /// Maximum number of open connections. Further connections wait until one closes. A trusted proxy may have all of
    /// them. Raise it together with the limit of open files.
    pub connections_max: usize,
    /// Maximum time for requests in flight after the shutdown begins, in ms. Then their connections are closed.
    /// Raise it if requests are cut at a restart.
    pub drain_ms: u64,
    /// Retry delay that rejected callers get, in ms. The header `Retry-After` has it in seconds, rounded up. It is no setting.
    #[serde(skip, default = "retry_after_ms")]
    pub retry_after_ms: u64,
    /// The limits of each connection.
    pub connection: ConnectionConfig,
    /// Further limits of each connection and of the bodies, which are no settings.
    #[serde(skip, default = "TransportLimits::public")]
    pub transport: TransportLimits,
    /// The TLS files. Without them, connections are plain.
    pub tls: TlsConfig,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self::at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }
}

impl HttpConfig {
    /// The defaults with the address `addr`.
    #[must_use]
    pub const fn at(addr: SocketAddr) -> Self {
        Self {
            addr,
            request_timeout_ms: 10_000,
            header_timeout_ms: 5_000,
            header_bytes_max: header_bytes_max(),
            body_bytes_max: 1024 * 1024,
            bodies_bytes_max: 256 * 1024 * 1024,
            requests_max: 2048,
            streams_max: 4096,
            connections_max: 4096,
            drain_ms: 10_000,
            retry_after_ms: retry_after_ms(),
            connection: ConnectionConfig::PUBLIC,
            transport: TransportLimits::PUBLIC,
            tls: TlsConfig::OFF,
        }
    }

    pub(super) const fn header_timeout(&self) -> Duration {
        Duration::from_millis(self.header_timeout_ms)
    }
}

impl Validate for HttpConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.bounds("request_timeout_ms", self.request_timeout_ms, &TIMEOUT);
        checks.bounds("header_timeout_ms", self.header_timeout_ms, &TIMEOUT);
        checks.bounds("body_bytes_max", self.body_bytes_max, &BODY);
        checks.bounds("bodies_bytes_max", self.bodies_bytes_max, &BODIES);
        checks.bounds("requests_max", self.requests_max, &REQUESTS);
        checks.bounds("streams_max", self.streams_max, &STREAMS);
        checks.bounds("connections_max", self.connections_max, &CONNECTIONS);
        checks.bounds("drain_ms", self.drain_ms, &DRAIN);
        checks.section("connection", &self.connection);
        checks.section("tls", &self.tls);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::{Sources, load};

    fn check(key: &str, min: u64, max: u64) {
        let settings = |value: u64| match key.split_once('.') {
            Some((section, key)) => json!({ section: { key: value } }),
            None => json!({ key: value }),
        };
        let edges = [(min, true), (max, true), (max + 1, false)];
        let below = min.checked_sub(1).map(|below| (below, false));
        for (value, expected) in edges.into_iter().chain(below) {
            let taken = load::<HttpConfig>(&Sources::new().flags(&settings(value)));
            assert_eq!(taken.is_ok(), expected, "{key} = {value}");
        }
    }

    #[test]
    fn every_setting_is_bounded() {
        check("request_timeout_ms", 1, 600_000);
        check("header_timeout_ms", 1, 600_000);
        check("body_bytes_max", 1024, 64 * 1024 * 1024);
        check("bodies_bytes_max", 64 * 1024 * 1024, 64 * 1024 * 1024 * 1024);
        check("requests_max", 1, 1_000_000);
        check("streams_max", 1, 1_000_000);
        check("connections_max", 1, 100_000);
        check("drain_ms", 0, 600_000);
        check("connection.per_address_max", 1, 100_000);
        check("connection.age_max_ms", 100, 604_800_000);
    }
}
