//! Rate limits by key, in bounded memory.

use std::convert::Infallible;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed, StateStore};
use governor::{Quota, RateLimiter};
use quick_cache::sync::Cache;

use crate::config::RateLimit;

/// Maximum number of keys of a limiter; the least used ones are evicted and start with a full bucket.
pub const KEYS_MAX: usize = 100_000;

/// The state of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// The size of the bucket, in requests.
    pub limit: u32,
    /// Requests that may follow at once.
    pub remaining: u32,
    /// Time until the bucket is full.
    pub full_after: Duration,
}

/// The bucket is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted {
    /// The state of the bucket.
    pub allowance: Allowance,
    /// Time until the next request is admitted.
    pub retry_after: Duration,
}

/// Buckets of one size, one per key.
#[derive(Debug)]
pub struct Limiter<K: Hash + Eq + Clone, C: Clock = DefaultClock> {
    limit: RateLimit,
    buckets: RateLimiter<K, Buckets<K>, C, StateInformationMiddleware>,
}

impl<K: Hash + Eq + Clone, C: Clock> Limiter<K, C> {
    /// Full buckets of this size; zero counts as one.
    pub fn new(limit: RateLimit, clock: C) -> Self {
        let at_least_one = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(at_least_one(limit.per_second)).allow_burst(at_least_one(limit.burst));
        let buckets = RateLimiter::new(quota, Buckets(Cache::new(KEYS_MAX)), clock);
        Self { limit, buckets }
    }

    /// Takes one request from the bucket of a key.
    ///
    /// # Errors
    /// [`Exhausted`].
    pub fn take(&self, key: &K) -> Result<Allowance, Exhausted> {
        match self.buckets.check_key(key) {
            Ok(left) => Ok(self.allowance(left.remaining_burst_capacity())),
            Err(not_until) => Err(Exhausted {
                allowance: self.allowance(0),
                retry_after: not_until.wait_time_from(self.buckets.clock().now()),
            }),
        }
    }

    fn allowance(&self, remaining: u32) -> Allowance {
        let RateLimit { per_second, burst } = self.limit;
        let missing = burst.saturating_sub(remaining);
        Allowance {
            limit: burst,
            remaining,
            full_after: Duration::from_secs(missing.div_ceil(per_second.max(1)).into()),
        }
    }
}

/// A bounded cache of buckets.
#[derive(Debug)]
struct Buckets<K>(Cache<K, Arc<InMemoryState>>);

impl<K: Hash + Eq + Clone> StateStore for Buckets<K> {
    type Key = K;

    fn measure_and_replace<T, F, E>(&self, key: &K, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let full = || Ok::<_, Infallible>(Arc::default());
        let Ok(bucket) = self.0.get_or_insert_with(key, full);
        bucket.measure_and_replace(&NotKeyed::NonKey, measure)
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    const LIMIT: RateLimit = RateLimit { per_second: 2, burst: 3 };

    fn left(remaining: u32, full_after_s: u64) -> Allowance {
        Allowance { limit: 3, remaining, full_after: Duration::from_secs(full_after_s) }
    }

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let clock = FakeRelativeClock::default();
        let limiter = Limiter::new(LIMIT, clock.clone());
        let check = |advance_ms: u64, expected| {
            clock.advance(Duration::from_millis(advance_ms));
            assert_eq!(limiter.take(&"a"), expected, "after {advance_ms} ms");
        };
        let exhausted =
            |retry_after_ms| Exhausted { allowance: left(0, 2), retry_after: Duration::from_millis(retry_after_ms) };
        check(0, Ok(left(2, 1)));
        check(0, Ok(left(1, 1)));
        check(0, Ok(left(0, 2)));
        check(0, Err(exhausted(500)));
        check(499, Err(exhausted(1)));
        check(1, Ok(left(0, 2)));
        check(0, Err(exhausted(500)));
        check(1_500, Ok(left(2, 1)));
        assert_eq!(limiter.take(&"b"), Ok(left(2, 1)));
    }

    #[test]
    fn keys_are_remembered_up_to_their_bound() {
        let limiter = Limiter::new(LIMIT, FakeRelativeClock::default());
        for key in 0..=KEYS_MAX {
            assert!(limiter.take(&key).is_ok());
        }
        let known = limiter.buckets.into_state_store().0.len();
        assert!(known <= KEYS_MAX, "{known} keys");
        assert!(known > KEYS_MAX / 2, "{known} keys");
    }
}
