//! When a connection is closed: no headers, nothing open, nothing taken, too old. Decides; closes nothing by itself.

use std::time::Duration;

use rand::RngExt;
use tokio::time::Instant;

use super::CUT_GRACE;
use super::close_reason::CloseReason;
use super::config::ConnectionConfig;
use super::exchange::Activity;

/// Connections of one moment reach their maximum age spread over this share of it.
const AGE_JITTER: f64 = 0.1;

/// How often connections are looked at.
const CHECK_INTERVAL_MIN: Duration = Duration::from_millis(5);
const CHECK_INTERVAL_MAX: Duration = Duration::from_secs(1);

/// A tenth of the shortest timeout, so that none is missed by much.
const CHECKS_PER_TIMEOUT: u32 = 10;

/// The life of one connection.
#[derive(Debug)]
pub(super) struct Lifetime {
    accepted: Instant,
    header_timeout: Duration,
    age_max: Duration,
    config: ConnectionConfig,
    closing_since: Option<(Instant, CloseReason)>,
}

/// What to do with a connection now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Keep,
    /// Take no new requests: send GOAWAY.
    Finish,
    /// Close it, whatever is open.
    Close(CloseReason),
}

impl Lifetime {
    pub(super) fn new(config: ConnectionConfig, header_timeout: Duration) -> Self {
        let jitter = 1.0 - AGE_JITTER * rand::rng().random::<f64>();
        Self {
            accepted: Instant::now(),
            header_timeout,
            age_max: Duration::from_millis(config.age_max_ms).mul_f64(jitter),
            config,
            closing_since: None,
        }
    }

    /// The pause between two checks.
    pub(super) fn check_interval(&self) -> Duration {
        let shortest = self
            .header_timeout
            .min(self.config.idle_timeout())
            .min(self.config.write_timeout())
            .min(self.age_max);
        (shortest / CHECKS_PER_TIMEOUT).clamp(CHECK_INTERVAL_MIN, CHECK_INTERVAL_MAX)
    }

    pub(super) fn check(&mut self, activity: &Activity) -> Verdict {
        if activity.is_stalled(self.config.write_timeout()) {
            return Verdict::Close(CloseReason::WriteTimeout);
        }
        let idle = activity.idle_for();
        if let Some((since, reason)) = self.closing_since {
            let over = since.elapsed() >= self.config.age_grace();
            let unused = since.elapsed() >= CUT_GRACE && idle.is_some();
            return if over || unused {
                Verdict::Close(reason)
            } else {
                Verdict::Keep
            };
        }
        if !activity.is_used() {
            return if self.accepted.elapsed() >= self.header_timeout {
                Verdict::Close(CloseReason::HeadersTimeout)
            } else {
                Verdict::Keep
            };
        }
        let reason = if idle.is_some_and(|idle| idle >= self.config.idle_timeout()) {
            CloseReason::Idle
        } else if self.accepted.elapsed() >= self.age_max {
            CloseReason::Age
        } else {
            return Verdict::Keep;
        };
        self.closing_since = Some((Instant::now(), reason));
        Verdict::Finish
    }

    /// Why a connection that has ended by itself has ended.
    pub(super) fn ended(&self) -> CloseReason {
        self.closing_since
            .map_or(CloseReason::Client, |(_, reason)| reason)
    }
}
