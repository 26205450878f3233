//! Waits that grow, and that two callers who failed together do not share.

use std::time::Duration;

/// The first wait, before it is jittered.
const BASE: Duration = Duration::from_millis(4);

/// A wait drawn evenly from half of `4 ms * 2^attempt` up to all of it, `most` being the most.
pub(crate) fn jittered(attempt: u32, most: Duration) -> Duration {
    let factor = 2_u32.checked_pow(attempt).unwrap_or(u32::MAX);
    let wait = BASE.saturating_mul(factor).min(most);
    rand::random_range(wait / 2..=wait)
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
