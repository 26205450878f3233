//! How fast a replay may go.

use std::num::NonZeroU32;

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

/// Commits a second that a subject gets unless told otherwise.
pub(super) const RATE_DEFAULT: u32 = 1_000;
/// Most commits a second that can be asked for.
pub(super) const RATE_MAX: u32 = 100_000;
/// How much of a second may come at once: timers are coarser than the pauses between commits.
const BURSTS_PER_SECOND: u32 = 20;

/// A bound of commits a second, or none.
pub(super) struct Pace(Option<DefaultDirectRateLimiter>);

impl Pace {
    /// `rate` is in commits a second; `None`: as fast as can be.
    pub(super) fn new(rate: Option<u32>) -> Self {
        let rate = rate.and_then(NonZeroU32::new);
        Self(rate.map(|rate| {
            let burst = NonZeroU32::new(rate.get() / BURSTS_PER_SECOND);
            let burst = burst.unwrap_or(NonZeroU32::MIN);
            RateLimiter::direct(Quota::per_second(rate).allow_burst(burst))
        }))
    }

    /// Waits until the next commit may go.
    pub(super) async fn wait(&self) {
        if let Some(limiter) = &self.0 {
            limiter.until_ready().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    async fn check(rate: Option<u32>, commits: u32, at_least: Duration) {
        let pace = Pace::new(rate);
        let began = Instant::now();
        for _ in 0..commits {
            pace.wait().await;
        }
        assert!(began.elapsed() >= at_least, "{rate:?}");
    }

    #[tokio::test]
    async fn no_more_go_than_may() {
        check(None, 100_000, Duration::ZERO).await;
        // The first goes at once.
        check(Some(10), 3, Duration::from_millis(199)).await;
        // 50 at once, then one a millisecond.
        check(Some(1_000), 150, Duration::from_millis(99)).await;
        check(Some(RATE_MAX), 5_100, Duration::ZERO).await;
    }
}
