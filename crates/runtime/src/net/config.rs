//! The settings of connections of gRPC and HTTP servers, and their bounds.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::{Bounds, Checks, Validate};

use super::bounds::CONNECTIONS;

const TIMEOUT: Bounds<u64> = Bounds::new(10..=86_400_000, "ms");
const AGE: Bounds<u64> = Bounds::new(100..=604_800_000, "ms");
const GRACE: Bounds<u64> = Bounds::new(0..=86_400_000, "ms");
const PREEMPT: Bounds<u64> = Bounds::new(0..=600_000, "ms");
const SATURATED: Bounds<u64> = Bounds::new(100..=600_000, "ms");
const TCP: Bounds<u64> = Bounds::new(1_000..=3_600_000, "ms");

/// The settings of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionConfig {
    /// Maximum number of open connections from one client address (IPv6: one /64 network). Further ones are closed at once.
    pub per_address_max: usize,
    /// Maximum time in which a client reads nothing of a response, in ms. Then the stream is reset or the connection closed.
    pub write_timeout_ms: u64,
    /// Maximum time without an open request, in ms. Then the connection is closed; an HTTP/2 client gets GOAWAY first.
    pub idle_timeout_ms: u64,
    /// Maximum age of a connection, in ms. Then it accepts no more requests; an HTTP/2 client gets GOAWAY.
    pub age_max_ms: u64,
    /// Maximum time for open requests on a connection that is idle or too old, in ms. Then the connection is closed.
    pub age_grace_ms: u64,
    /// Maximum time without an acknowledgement of sent bytes, in ms (`TCP_USER_TIMEOUT`). Then the connection is closed.
    pub tcp_user_timeout_ms: u64,
    /// Time without traffic before TCP sends keep-alive probes, in ms (`SO_KEEPALIVE`).
    pub tcp_keepalive_ms: u64,
    /// If all slots are in use: time that a request must have waited for its client before a new request takes its slot, in ms.
    pub preempt_after_ms: u64,
    /// Time with all slots in use and none released, after which the server reports not ready, in ms.
    pub saturated_after_ms: u64,
}

impl ConnectionConfig {
    /// For clients on the internet.
    pub const PUBLIC: Self = Self {
        per_address_max: 256,
        write_timeout_ms: 20_000,
        idle_timeout_ms: 75_000,
        age_max_ms: 3_600_000,
        age_grace_ms: 300_000,
        tcp_user_timeout_ms: 30_000,
        tcp_keepalive_ms: 30_000,
        preempt_after_ms: 250,
        saturated_after_ms: 2_000,
    };

    /// For services of the deployment. Their connections live longer.
    pub const INTERNAL: Self = Self {
        per_address_max: 2048,
        write_timeout_ms: 30_000,
        idle_timeout_ms: 600_000,
        age_max_ms: 86_400_000,
        age_grace_ms: 600_000,
        ..Self::PUBLIC
    };

    pub(crate) const fn write_timeout(&self) -> Duration {
        Duration::from_millis(self.write_timeout_ms)
    }

    pub(crate) const fn preempt_after(&self) -> Duration {
        Duration::from_millis(self.preempt_after_ms)
    }

    pub(super) const fn idle_timeout(&self) -> Duration {
        Duration::from_millis(self.idle_timeout_ms)
    }
}

impl Validate for ConnectionConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.bounds("per_address_max", self.per_address_max, &CONNECTIONS);
        checks.bounds("write_timeout_ms", self.write_timeout_ms, &TIMEOUT);
        checks.bounds("idle_timeout_ms", self.idle_timeout_ms, &TIMEOUT);
        checks.bounds("age_max_ms", self.age_max_ms, &AGE);
        checks.bounds("age_grace_ms", self.age_grace_ms, &GRACE);
        checks.bounds("tcp_user_timeout_ms", self.tcp_user_timeout_ms, &TCP);
        checks.bounds("tcp_keepalive_ms", self.tcp_keepalive_ms, &TCP);
        checks.bounds("preempt_after_ms", self.preempt_after_ms, &PREEMPT);
        checks.bounds("saturated_after_ms", self.saturated_after_ms, &SATURATED);
    }
}
