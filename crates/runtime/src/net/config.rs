//! The settings and limits of connections of gRPC and HTTP servers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::{Bounds, Checks, Validate};

use super::BodyProgress;
use super::bounds::CONNECTIONS;

const AGE: Bounds<u64> = Bounds::new(100..=604_800_000, "ms");

/// The settings of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionConfig {
    /// Maximum number of open connections from one client address (IPv6: one /64 network). Further ones are closed at once. Raise
    /// it if many clients share an address.
    pub per_address_max: usize,
    /// Maximum age of a connection, in ms. Then it accepts no more requests; an HTTP/2 client gets GOAWAY. Lower it if clients
    /// must spread over new instances sooner.
    pub age_max_ms: u64,
}

impl ConnectionConfig {
    /// For clients on the internet.
    pub const PUBLIC: Self = Self { per_address_max: 256, age_max_ms: 3_600_000 };

    /// For services of the deployment. Their connections live longer.
    pub const INTERNAL: Self = Self { per_address_max: 2048, age_max_ms: 86_400_000 };
}

impl Validate for ConnectionConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.bounds("per_address_max", self.per_address_max, &CONNECTIONS);
        checks.bounds("age_max_ms", self.age_max_ms, &AGE);
    }
}

/// Limits of connections and bodies that are no settings: each server has those of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportLimits {
    /// Maximum time in which a client reads nothing of a response, in ms. Then the stream is reset or the connection closed.
    pub write_timeout_ms: u64,
    /// Maximum time without an open request, in ms. Then the connection is closed; an HTTP/2 client gets GOAWAY first.
    pub idle_timeout_ms: u64,
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
    /// Interval in which at least `body_progress_bytes_min` of a request must arrive, in ms.
    pub body_progress_timeout_ms: u64,
    /// Minimum number of bytes of a request that must arrive in each `body_progress_timeout_ms`, unless the request ends.
    pub body_progress_bytes_min: usize,
}

impl TransportLimits {
    /// For clients on the internet.
    pub const PUBLIC: Self = Self {
        write_timeout_ms: 20_000,
        idle_timeout_ms: 75_000,
        age_grace_ms: 300_000,
        tcp_user_timeout_ms: 30_000,
        tcp_keepalive_ms: 30_000,
        preempt_after_ms: 250,
        saturated_after_ms: 2_000,
        body_progress_timeout_ms: 3_000,
        body_progress_bytes_min: 1024,
    };

    /// For services of the deployment. Their connections live longer.
    pub const INTERNAL: Self = Self {
        write_timeout_ms: 30_000,
        idle_timeout_ms: 600_000,
        age_grace_ms: 600_000,
        body_progress_timeout_ms: 5_000,
        ..Self::PUBLIC
    };

    /// [`Self::PUBLIC`], for serde.
    pub(crate) const fn public() -> Self {
        Self::PUBLIC
    }

    /// [`Self::INTERNAL`], for serde.
    pub(crate) const fn internal() -> Self {
        Self::INTERNAL
    }

    pub(crate) const fn write_timeout(&self) -> Duration {
        Duration::from_millis(self.write_timeout_ms)
    }

    pub(crate) const fn preempt_after(&self) -> Duration {
        Duration::from_millis(self.preempt_after_ms)
    }

    pub(crate) const fn body_progress(&self) -> BodyProgress {
        BodyProgress::new(self.body_progress_timeout_ms, self.body_progress_bytes_min)
    }

    pub(super) const fn idle_timeout(&self) -> Duration {
        Duration::from_millis(self.idle_timeout_ms)
    }
}
