//! Waits that grow, and that two callers who failed together do not share.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};

/// The first wait, before it is jittered.
const BASE: Duration = Duration::from_millis(4);
/// The attempt whose wait is over a year: from here on every wait is at its bound.
const ATTEMPT_MAX: u32 = 40;

/// A wait drawn evenly from half of `4 ms * 2^attempt` up to all of it, `most` being the most.
pub(crate) fn jittered(attempt: u32, most: Duration) -> Duration {
    // backon adds up to the whole delay as jitter.
    let waits = ExponentialBuilder::new()
        .with_min_delay(BASE / 2)
        .with_max_delay(most / 2)
        .with_jitter()
        .without_max_times();
    let attempt = usize::try_from(attempt.min(ATTEMPT_MAX)).unwrap_or(usize::MAX);
    waits.build().nth(attempt).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_their_bound() {
        let most = Duration::from_millis(500);
        for (attempt, longest_ms) in [(0, 4), (1, 8), (5, 128), (7, 500), (u32::MAX, 500)] {
            let longest = Duration::from_millis(longest_ms);
            for _ in 0..100 {
                let wait = jittered(attempt, most);
                assert!(
                    (longest / 2..=longest).contains(&wait),
                    "{attempt}: {wait:?}"
                );
            }
        }
    }
}
