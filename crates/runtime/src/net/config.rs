//! The settings of connections, for servers of every protocol, and their bounds.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::{Bounds, Checks, Validate};

use super::bounds::CONNECTIONS;

const TIMEOUT: Bounds<u64> = Bounds {
    min: 10,
    max: 86_400_000,
    unit: "ms",
};
const AGE: Bounds<u64> = Bounds {
    min: 100,
    max: 604_800_000,
    unit: "ms",
};
const GRACE: Bounds<u64> = Bounds {
    min: 0,
    max: 86_400_000,
    unit: "ms",
};
const PREEMPT: Bounds<u64> = Bounds {
    min: 0,
    max: 600_000,
    unit: "ms",
};
const SATURATED: Bounds<u64> = Bounds {
    min: 100,
    max: 600_000,
    unit: "ms",
};
const TCP: Bounds<u64> = Bounds {
    min: 1_000,
    max: 3_600_000,
    unit: "ms",
};

/// The settings of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionConfig {
    /// The most connections at once from one client address; of IPv6, from one /64 network. More are closed at once.
    pub per_address_max: usize,
    /// How long a client may take nothing of a response, in ms; then its stream is reset, or its connection closed.
    pub write_timeout_ms: u64,
    /// How long a connection may have no request open, in ms; then it is closed. HTTP/2 is sent GOAWAY first.
    pub idle_timeout_ms: u64,
    /// How old a connection may become, in ms; then it takes no more requests. HTTP/2 is sent GOAWAY.
    pub age_max_ms: u64,
    /// How long requests may continue on a connection that is idle or too old, in ms; then it is closed.
    pub age_grace_ms: u64,
    /// How long bytes may be unacknowledged by the client's machine before its connection is closed (`TCP_USER_TIMEOUT`), in ms.
    pub tcp_user_timeout_ms: u64,
    /// How long a connection may be silent before TCP probes it (`SO_KEEPALIVE`), in ms.
    pub tcp_keepalive_ms: u64,
    /// When all slots are in use: how long a request must have waited for its client before another takes its slot, in ms.
    pub preempt_after_ms: u64,
    /// How long all slots may be in use, none of them freed, before the server says that it is not ready, in ms.
    pub saturated_after_ms: u64,
}

impl ConnectionConfig {
    /// For clients that anybody may run.
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

    /// For services of the deployment, which keep their connections.
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

    pub(crate) const fn saturated_after(&self) -> Duration {
        Duration::from_millis(self.saturated_after_ms)
    }

    pub(super) const fn idle_timeout(&self) -> Duration {
        Duration::from_millis(self.idle_timeout_ms)
    }

    pub(super) const fn age_grace(&self) -> Duration {
        Duration::from_millis(self.age_grace_ms)
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
