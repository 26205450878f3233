//! A rate limit for long background work, so that it leaves resources for requests.

use std::num::NonZeroU32;

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter as Governor};

/// One burst is this part of a second. Timers are coarser than the pauses between single items.
const BURSTS_PER_SECOND: u32 = 20;

/// Limits the number of items per second, or does not limit it.
#[derive(Debug)]
pub struct RateLimiter(Option<Limit>);

#[derive(Debug)]
struct Limit {
    governor: DefaultDirectRateLimiter,
    burst: NonZeroU32,
}

impl RateLimiter {
    /// `rate` is in items per second; `None` means no limit.
    #[must_use]
    pub fn new(rate: Option<u32>) -> Self {
        let rate = rate.and_then(NonZeroU32::new);
        Self(rate.map(|rate| {
            let burst = NonZeroU32::new(rate.get() / BURSTS_PER_SECOND).unwrap_or(NonZeroU32::MIN);
            let governor = Governor::direct(Quota::per_second(rate).allow_burst(burst));
            Limit { governor, burst }
        }))
    }

    /// Waits until this number of items may be processed.
    pub async fn wait(&self, items: usize) {
        let Some(Limit { governor, burst }) = &self.0 else {
            return;
        };
        let mut left = u32::try_from(items).unwrap_or(u32::MAX);
        while let Some(next) = NonZeroU32::new(left.min(burst.get())) {
            // The only error is a number above the burst.
            let _: Result<(), _> = governor.until_n_ready(next).await;
            left -= next.get();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    async fn check(rate: Option<u32>, items: usize, at_least: Duration) {
        for batch in [1, items] {
            let limiter = RateLimiter::new(rate);
            let started = Instant::now();
            for _ in 0..items / batch {
                limiter.wait(batch).await;
            }
            assert!(started.elapsed() >= at_least, "{rate:?}, {batch} at once");
        }
    }

    #[tokio::test]
    async fn the_rate_is_not_exceeded() {
        check(None, 100_000, Duration::ZERO).await;
        // The first item does not wait.
        check(Some(10), 3, Duration::from_millis(199)).await;
        // 50 items at once, then one per millisecond.
        check(Some(1_000), 150, Duration::from_millis(99)).await;
        check(Some(100_000), 5_100, Duration::ZERO).await;
    }
}
