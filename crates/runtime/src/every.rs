//! The rounds of background loops. docs/explanation/architecture.md lists the loops.

use std::time::Duration;

use tokio::time::sleep;

/// Rounds with this pause after each, give or take a quarter: processes that started together do not work at the same time.
#[derive(Debug)]
pub struct Every {
    pause: Duration,
    is_paused: bool,
}

/// Rounds, the first at once.
#[must_use]
pub fn every(pause: Duration) -> Every {
    Every { pause, is_paused: false }
}

/// Rounds, the first after a pause.
#[must_use]
pub fn after_every(pause: Duration) -> Every {
    Every { pause, is_paused: true }
}

impl Every {
    /// Waits until the next round is due.
    pub async fn next(&mut self) {
        if self.is_paused {
            sleep(rand::random_range(self.pause.mul_f64(0.75)..=self.pause.mul_f64(1.25))).await;
        }
        self.is_paused = true;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const PAUSE: Duration = Duration::from_secs(4);
    const ROUND: Duration = Duration::from_secs(9);

    /// The paused clock advances when all tasks are idle.
    #[tokio::test(start_paused = true)]
    async fn each_round_is_followed_by_a_pause() {
        for (mut rounds, is_first_at_once) in [(every(PAUSE), true), (after_every(PAUSE), false)] {
            let mut ended = Instant::now();
            for round in 0..50 {
                rounds.next().await;
                let waited = ended.elapsed();
                if round == 0 && is_first_at_once {
                    assert_eq!(waited, Duration::ZERO);
                } else {
                    assert!((PAUSE * 3 / 4..=PAUSE * 5 / 4 + Duration::from_millis(1)).contains(&waited), "{waited:?}");
                }
                sleep(ROUND).await;
                ended = Instant::now();
            }
        }
    }
}
