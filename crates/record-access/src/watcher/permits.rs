//! The number of watchers of a gateway is limited.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use wire::status::Problem;

use crate::metrics::Gauge;
use crate::problem;

/// Limits the number of watchers of a gateway.
#[derive(Debug)]
pub struct Watchers {
    permits: Arc<Semaphore>,
    max: usize,
    pub(super) idle_check: Duration,
    pub(super) drain: CancellationToken,
}

/// The permit of one watcher.
#[derive(Debug)]
pub struct WatcherPermit {
    _permit: OwnedSemaphorePermit,
    _gauge: Gauge,
}

impl Watchers {
    /// Allows `watchers_max` concurrent watchers. Each reads the record again after `idle_check` without events. All end when
    /// `drain` is cancelled.
    #[must_use]
    pub fn new(watchers_max: usize, idle_check: Duration, drain: CancellationToken) -> Self {
        Self { permits: Arc::new(Semaphore::new(watchers_max)), max: watchers_max, idle_check, drain }
    }

    /// Cancelled when the service drains.
    #[must_use]
    pub fn drain(&self) -> &CancellationToken {
        &self.drain
    }

    /// Maximum number of concurrent watchers.
    #[must_use]
    pub fn max(&self) -> usize {
        self.max
    }

    /// Acquires a permit without waiting.
    ///
    /// # Errors
    /// `OVERLOADED`: `watchers_max` is reached.
    pub fn acquire(&self) -> Result<WatcherPermit, Problem> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().map_err(|_| problem::too_many_watchers(self.max))?;
        Ok(WatcherPermit { _permit: permit, _gauge: Gauge::up("hansard_gateway_watchers") })
    }
}
