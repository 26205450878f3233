//! Exponential backoff with jitter.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};

/// From this attempt on every delay is the maximum: a base of 1 ns has grown beyond a minute.
const ATTEMPT_MAX: u32 = 40;

/// Delays without end. The n-th delay is random between half of `base * 2^n` and all of it; `cap` is the maximum.
///
/// No delay is zero, and callers that failed together wait for different times.
#[must_use]
pub fn exponential(base: Duration, cap: Duration) -> ExponentialBuilder {
    // backon adds a jitter of up to the whole delay.
    ExponentialBuilder::new().with_min_delay(base / 2).with_max_delay(cap / 2).with_jitter().without_max_times()
}

/// The delay after `attempt` failed attempts: the same as [`exponential`], for code that counts its attempts itself.
#[must_use]
pub fn delay(attempt: u32, base: Duration, cap: Duration) -> Duration {
    let attempt = usize::try_from(attempt.min(ATTEMPT_MAX)).unwrap_or(usize::MAX);
    exponential(base, cap).build().nth(attempt).unwrap_or(cap)
}

/// Delays for a loop that cannot be written as a closure for [`backon::Retryable`].
#[derive(Debug)]
pub struct Backoff(ExponentialBackoff);

impl Backoff {
    /// The delays of [`exponential`].
    #[must_use]
    pub fn new(base: Duration, cap: Duration) -> Self {
        Self(exponential(base, cap).build())
    }

    /// The first `attempts` delays of [`exponential`].
    #[must_use]
    pub fn bounded(base: Duration, cap: Duration, attempts: usize) -> Self {
        Self(exponential(base, cap).with_max_times(attempts).build())
    }

    /// Sleeps for the next delay; returns `false` when no attempts are left.
    pub async fn wait(&mut self) -> bool {
        match self.0.next() {
            Some(wait) => {
                tokio::time::sleep(wait).await;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(waits: ExponentialBuilder, expected_most_ms: &[Option<u64>]) {
        let mut waits = waits.build();
        for (attempt, expected) in expected_most_ms.iter().enumerate() {
            match (waits.next(), expected.map(Duration::from_millis)) {
                (None, None) => {}
                (Some(wait), Some(most)) => {
                    assert!(wait >= most / 2 && wait <= most, "attempt {attempt}: {wait:?}");
                }
                (wait, most) => panic!("attempt {attempt}: {wait:?}, expected {most:?}"),
            }
        }
    }

    #[test]
    fn waits_double_up_to_the_cap_and_end_with_the_attempts() {
        let waits = exponential(Duration::from_millis(10), Duration::from_millis(50));
        let series = [Some(10), Some(20), Some(40), Some(50), Some(50), None, None];
        check(waits.with_max_times(5), &series);
    }

    #[test]
    fn delays_of_counted_attempts() {
        let (base, cap) = (Duration::from_millis(4), Duration::from_millis(500));
        for (attempt, most_ms) in [(0, 4), (1, 8), (5, 128), (7, 500), (ATTEMPT_MAX + 1, 500), (u32::MAX, 500)] {
            let most = Duration::from_millis(most_ms);
            for _ in 0..100 {
                let delay = delay(attempt, base, cap);
                assert!((most / 2..=most).contains(&delay), "{attempt}: {delay:?}");
            }
        }
    }

    #[test]
    fn a_long_series_never_overflows() {
        let waits = exponential(Duration::from_secs(1), Duration::from_mins(1));
        let rising = [1000, 2000, 4000, 8000, 16_000, 32_000].map(Some);
        check(waits, &[&rising[..], &[Some(60_000); 100]].concat());
    }
}
