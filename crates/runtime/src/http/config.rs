//! The settings of an HTTP server, and their bounds.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::{Bounds, Checks, Validate};
use crate::net::bounds::{CONNECTIONS, DRAIN, PROGRESS, RETRY_AFTER, STREAMS, TIMEOUT};
use crate::net::{BodyProgress, ConnectionConfig};
use crate::tls::TlsConfig;

const HEADERS: Bounds<usize> = Bounds {
    min: 1024,
    max: 1024 * 1024,
    unit: "bytes",
};
const BODY: Bounds<usize> = Bounds {
    min: 1024,
    max: 64 * 1024 * 1024,
    unit: "bytes",
};
const REQUESTS: Bounds<usize> = Bounds {
    min: 1,
    max: 1_000_000,
    unit: "requests",
};

/// The settings of an HTTP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpConfig {
    /// Where to listen; port 0 takes a free one.
    pub addr: SocketAddr,
    /// The longest time that a request may take, its body and its answer included, in ms; streams excepted.
    pub request_timeout_ms: u64,
    /// The longest time that the headers of a request may take, in ms; so long also an HTTP/1.1 connection may be idle.
    pub header_timeout_ms: u64,
    /// The largest request line and headers together, in bytes: names, values and four bytes for each.
    pub header_bytes_max: usize,
    /// The largest body of a request, in bytes.
    pub body_bytes_max: usize,
    /// The most requests at work at once, streams excepted; more are shed with 503.
    pub requests_max: usize,
    /// The most streams open at once; more are shed with 503.
    pub streams_max: usize,
    /// The most connections at once; more wait to be accepted.
    pub connections_max: usize,
    /// How long requests in flight may go on once the server ends, in ms; then they are cut.
    pub drain_ms: u64,
    /// When a shed caller should try again, in ms; told in `Retry-After` in seconds, rounded up.
    pub retry_after_ms: u64,
    /// The most connections at once from one trusted proxy.
    pub connections_per_proxy_max: usize,
    /// How long the server waits for more of a request's body, in ms: at least `body_progress_bytes_min` must arrive meanwhile.
    pub body_progress_timeout_ms: u64,
    /// The least that must arrive of a request's body in each `body_progress_timeout_ms`, in bytes, unless it ends.
    pub body_progress_bytes_min: usize,
    /// The bounds of each connection.
    pub connection: ConnectionConfig,
    /// The files of its TLS; none: plain connections.
    pub tls: TlsConfig,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self::at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }
}

impl HttpConfig {
    /// The defaults, listening at `addr`.
    #[must_use]
    pub const fn at(addr: SocketAddr) -> Self {
        Self {
            addr,
            request_timeout_ms: 10_000,
            header_timeout_ms: 5_000,
            header_bytes_max: 32 * 1024,
            body_bytes_max: 1024 * 1024,
            requests_max: 2048,
            streams_max: 4096,
            connections_max: 4096,
            drain_ms: 10_000,
            retry_after_ms: 1_000,
            connections_per_proxy_max: 4096,
            body_progress_timeout_ms: 3_000,
            body_progress_bytes_min: 1024,
            connection: ConnectionConfig::PUBLIC,
            tls: TlsConfig::OFF,
        }
    }

    pub(super) const fn request_timeout(&self) -> Duration {
        Duration::from_millis(self.request_timeout_ms)
    }

    pub(super) const fn header_timeout(&self) -> Duration {
        Duration::from_millis(self.header_timeout_ms)
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

    pub(super) const fn retry_after(&self) -> Duration {
        Duration::from_millis(self.retry_after_ms)
    }
}

impl Validate for HttpConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.bounds("request_timeout_ms", self.request_timeout_ms, &TIMEOUT);
        checks.bounds("header_timeout_ms", self.header_timeout_ms, &TIMEOUT);
        checks.bounds("header_bytes_max", self.header_bytes_max, &HEADERS);
        checks.bounds("body_bytes_max", self.body_bytes_max, &BODY);
        checks.bounds("requests_max", self.requests_max, &REQUESTS);
        checks.bounds("streams_max", self.streams_max, &STREAMS);
        checks.bounds("connections_max", self.connections_max, &CONNECTIONS);
        checks.bounds("drain_ms", self.drain_ms, &DRAIN);
        checks.bounds("retry_after_ms", self.retry_after_ms, &RETRY_AFTER);
        checks.bounds(
            "connections_per_proxy_max",
            self.connections_per_proxy_max,
            &CONNECTIONS,
        );
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
        check("header_bytes_max", 1024, 1024 * 1024);
        check("body_bytes_max", 1024, 64 * 1024 * 1024);
        check("requests_max", 1, 1_000_000);
        check("streams_max", 1, 1_000_000);
        check("connections_max", 1, 100_000);
        check("drain_ms", 0, 600_000);
        check("retry_after_ms", 1, 60_000);
        check("connections_per_proxy_max", 1, 100_000);
        check("body_progress_timeout_ms", 1, 600_000);
        check("body_progress_bytes_min", 1, 1024 * 1024);
        check("connection.per_address_max", 1, 100_000);
        check("connection.write_timeout_ms", 10, 86_400_000);
        check("connection.idle_timeout_ms", 10, 86_400_000);
        check("connection.age_max_ms", 100, 604_800_000);
        check("connection.age_grace_ms", 0, 86_400_000);
        check("connection.tcp_user_timeout_ms", 1_000, 3_600_000);
        check("connection.tcp_keepalive_ms", 1_000, 3_600_000);
        check("connection.preempt_after_ms", 0, 600_000);
        check("connection.saturated_after_ms", 100, 600_000);
    }
}
