//! Exponential backoff with jitter.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};

/// The first delay, before jitter.
const BASE: Duration = Duration::from_millis(4);
/// The delay of this attempt exceeds a year: from here on every delay is the maximum.
const ATTEMPT_MAX: u32 = 40;

/// A delay between half of `4 ms * 2^attempt` and all of it, at max `max`.
pub(crate) fn jittered(attempt: u32, max: Duration) -> Duration {
    // backon adds a jitter of up to the whole delay.
    let delays =
        ExponentialBuilder::new().with_min_delay(BASE / 2).with_max_delay(max / 2).with_jitter().without_max_times();
    let attempt = usize::try_from(attempt.min(ATTEMPT_MAX)).unwrap_or(usize::MAX);
    delays.build().nth(attempt).unwrap_or(max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_their_bound() {
        let max = Duration::from_millis(500);
        for (attempt, longest_ms) in [(0, 4), (1, 8), (5, 128), (7, 500), (u32::MAX, 500)] {
            let longest = Duration::from_millis(longest_ms);
            for _ in 0..100 {
                let wait = jittered(attempt, max);
                assert!((longest / 2..=longest).contains(&wait), "{attempt}: {wait:?}");
            }
        }
    }
}
