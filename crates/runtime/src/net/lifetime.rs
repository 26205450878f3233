//! Decides when a connection is closed: no headers, no open request, no reads by the client, or too old.

use std::time::Duration;

use rand::RngExt;
use tokio::time::Instant;

use super::CUT_GRACE;
use super::close_reason::CloseReason;
use super::config::{ConnectionConfig, TransportLimits};
use super::exchange::Activity;

/// Up to this share is subtracted from the maximum age, so that connections opened together do not close together.
const AGE_JITTER: f64 = 0.1;

/// The range of the interval between two checks of a connection.
const CHECK_INTERVAL_MIN: Duration = Duration::from_millis(5);
const CHECK_INTERVAL_MAX: Duration = Duration::from_secs(1);

/// The number of checks in the shortest timeout; it bounds the delay of a close.
const CHECKS_PER_TIMEOUT: u32 = 10;

#[derive(Debug)]
pub(super) struct Lifetime {
    accepted: Instant,
    header_timeout: Duration,
    age_max: Duration,
    limits: TransportLimits,
    closing_since: Option<(Instant, CloseReason)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Keep,
    /// Accept no new requests: send GOAWAY.
    Finish,
    /// Close the connection, also with open requests.
    Close(CloseReason),
}

impl Lifetime {
    pub(super) fn new(config: ConnectionConfig, limits: TransportLimits, header_timeout: Duration) -> Self {
        let jitter = 1.0 - AGE_JITTER * rand::rng().random::<f64>();
        Self {
            accepted: Instant::now(),
            header_timeout,
            age_max: Duration::from_millis(config.age_max_ms).mul_f64(jitter),
            limits,
            closing_since: None,
        }
    }

    pub(super) fn check_interval(&self) -> Duration {
        let shortest =
            self.header_timeout.min(self.limits.idle_timeout()).min(self.limits.write_timeout()).min(self.age_max);
        (shortest / CHECKS_PER_TIMEOUT).clamp(CHECK_INTERVAL_MIN, CHECK_INTERVAL_MAX)
    }

    pub(super) fn check(&mut self, activity: &Activity) -> Decision {
        if activity.is_stalled(self.limits.write_timeout()) {
            return Decision::Close(CloseReason::WRITE_TIMEOUT);
        }
        let idle = activity.idle_for();
        if let Some((since, reason)) = self.closing_since {
            let over = since.elapsed() >= Duration::from_millis(self.limits.age_grace_ms);
            let unused = since.elapsed() >= CUT_GRACE && idle.is_some();
            return if over || unused { Decision::Close(reason) } else { Decision::Keep };
        }
        if !activity.is_used() {
            return if self.accepted.elapsed() >= self.header_timeout {
                Decision::Close(CloseReason::HEADERS_TIMEOUT)
            } else {
                Decision::Keep
            };
        }
        let reason = if idle.is_some_and(|idle| idle >= self.limits.idle_timeout()) {
            CloseReason::IDLE
        } else if self.accepted.elapsed() >= self.age_max {
            CloseReason::AGE
        } else {
            return Decision::Keep;
        };
        self.closing_since = Some((Instant::now(), reason));
        Decision::Finish
    }

    /// The reason of a connection that the transport has closed.
    pub(super) fn close_reason(&self) -> CloseReason {
        self.closing_since.map_or(CloseReason::CLIENT, |(_, reason)| reason)
    }
}
