//! Waiting longer after each failure, for loops that reconnect.

use std::time::Duration;

/// A bounded, jittered, exponential series of waits.
///
/// The n-th wait is drawn evenly from half of `base * 2^n` up to all of it, `cap` being the most:
/// never zero, and never the same for two callers that failed together.
#[derive(Debug, Clone)]
pub struct Backoff {
    base: Duration,
    cap: Duration,
    attempts_max: Option<u32>,
    attempts: u32,
}

impl Backoff {
    /// Waits from `base` to `cap`, without end.
    #[must_use]
    pub const fn new(base: Duration, cap: Duration) -> Self {
        Self {
            base,
            cap,
            attempts_max: None,
            attempts: 0,
        }
    }

    /// Ends the series after `attempts` waits.
    #[must_use]
    pub const fn attempts(mut self, attempts: u32) -> Self {
        self.attempts_max = Some(attempts);
        self
    }

    /// The next wait; `None` once the attempts are used up.
    pub fn next_wait(&mut self) -> Option<Duration> {
        if self.attempts_max.is_some_and(|max| self.attempts >= max) {
            return None;
        }
        let factor = 2_u32.checked_pow(self.attempts).unwrap_or(u32::MAX);
        self.attempts = self.attempts.saturating_add(1);
        let most = self.base.saturating_mul(factor).min(self.cap);
        Some(rand::random_range(most / 2..=most))
    }

    /// Sleeps for the next wait; `false` once the attempts are used up.
    pub async fn wait(&mut self) -> bool {
        match self.next_wait() {
            Some(wait) => {
                tokio::time::sleep(wait).await;
                true
            }
            None => false,
        }
    }

    /// Starts again from `base`, after a success.
    pub fn reset(&mut self) {
        self.attempts = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(backoff: &mut Backoff, expected_most_ms: &[Option<u64>]) {
        for (attempt, expected) in expected_most_ms.iter().enumerate() {
            match (backoff.next_wait(), expected.map(Duration::from_millis)) {
                (None, None) => {}
                (Some(wait), Some(most)) => {
                    assert!(
                        wait >= most / 2 && wait <= most,
                        "attempt {attempt}: {wait:?}"
                    );
                }
                (wait, most) => panic!("attempt {attempt}: {wait:?}, expected {most:?}"),
            }
        }
    }

    #[test]
    fn waits_double_up_to_the_cap_and_end_with_the_attempts() {
        let mut backoff =
            Backoff::new(Duration::from_millis(10), Duration::from_millis(50)).attempts(5);
        let series = [Some(10), Some(20), Some(40), Some(50), Some(50), None, None];
        check(&mut backoff, &series);
        backoff.reset();
        check(&mut backoff, &series);
    }

    #[test]
    fn a_long_series_never_overflows() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(1));
        check(&mut backoff, &[Some(1000), Some(2000), Some(4000)]);
        check(&mut backoff, &[Some(8000), Some(16000), Some(32000)]);
        check(&mut backoff, &[Some(60_000); 100]);
    }
}
