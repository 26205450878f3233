//! How fast long work may go, so that it leaves room for what is served meanwhile.

use std::num::NonZeroU32;

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

/// How much of a second may come at once: timers are coarser than the pauses between pieces of work.
const BURSTS_PER_SECOND: u32 = 20;

/// A bound of pieces of work a second, or none.
#[derive(Debug)]
pub struct Pace(Option<Bound>);

#[derive(Debug)]
struct Bound {
    limiter: DefaultDirectRateLimiter,
    burst: NonZeroU32,
}

impl Pace {
    /// `rate` is in pieces a second; `None`: as fast as can be.
    #[must_use]
    pub fn new(rate: Option<u32>) -> Self {
        let rate = rate.and_then(NonZeroU32::new);
        Self(rate.map(|rate| {
            let burst = NonZeroU32::new(rate.get() / BURSTS_PER_SECOND);
            let burst = burst.unwrap_or(NonZeroU32::MIN);
            let limiter = RateLimiter::direct(Quota::per_second(rate).allow_burst(burst));
            Bound { limiter, burst }
        }))
    }

    /// Waits until so many pieces may go.
    pub async fn wait(&self, pieces: usize) {
        let Some(Bound { limiter, burst }) = &self.0 else {
            return;
        };
        let mut left = u32::try_from(pieces).unwrap_or(u32::MAX);
        while let Some(next) = NonZeroU32::new(left.min(burst.get())) {
            // Never more than the limiter holds, which is the one thing that it refuses.
            let _: Result<(), _> = limiter.until_n_ready(next).await;
            left -= next.get();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    async fn check(rate: Option<u32>, pieces: usize, at_least: Duration) {
        let pace = Pace::new(rate);
        let began = Instant::now();
        for _ in 0..pieces {
            pace.wait(1).await;
        }
        assert!(began.elapsed() >= at_least, "{rate:?}");
        let pace = Pace::new(rate);
        let began = Instant::now();
        pace.wait(pieces).await;
        assert!(began.elapsed() >= at_least, "{rate:?}, at once");
    }

    #[tokio::test]
    async fn no_more_go_than_may() {
        check(None, 100_000, Duration::ZERO).await;
        // The first goes at once.
        check(Some(10), 3, Duration::from_millis(199)).await;
        // 50 at once, then one a millisecond.
        check(Some(1_000), 150, Duration::from_millis(99)).await;
        check(Some(100_000), 5_100, Duration::ZERO).await;
    }
}
