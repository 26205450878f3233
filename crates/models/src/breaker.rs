//! Leaves a server alone that has failed too often, and finds out with one request when it is back.
//!
//! Closed, it counts failures in a row; at the bound it opens. Once its time is up it lets a single request through: if that
//! one is answered it closes, otherwise it opens anew. Time is handed in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::config::BreakerConfig;

/// The breaker of one server.
#[derive(Debug)]
pub(crate) struct Breaker {
    failures_max: u32,
    open_for: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    Probing { since: Instant },
}

/// How a request that was let through has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The server did its work.
    Success,
    /// The server failed.
    Failure,
}

/// A request that was let through. Dropped without an outcome, it says nothing of the server.
#[derive(Debug)]
pub(crate) struct Passage {
    breaker: Arc<Breaker>,
    is_probe: bool,
}

impl Breaker {
    pub(crate) fn new(config: &BreakerConfig) -> Self {
        Self {
            failures_max: config.failures_max,
            open_for: Duration::from_millis(config.open_ms),
            state: Mutex::new(State::Closed { failures: 0 }),
        }
    }

    /// Lets a request through.
    ///
    /// # Errors
    /// When the next one may be let through.
    pub(crate) fn pass(self: &Arc<Self>, now: Instant) -> Result<Passage, Duration> {
        let mut state = self.state();
        let is_probe = match *state {
            State::Closed { .. } => false,
            State::Open { until } if now < until => return Err(until - now),
            State::Open { .. } => {
                *state = State::Probing { since: now };
                true
            }
            State::Probing { .. } => return Err(self.open_for),
        };
        Ok(Passage {
            breaker: Arc::clone(self),
            is_probe,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, state: &mut State, now: Instant) {
        *state = State::Open {
            until: now + self.open_for,
        };
    }
}

impl Passage {
    /// The server has begun to answer: that is all that a probe wants to know.
    pub(crate) fn answered(&mut self) {
        if std::mem::take(&mut self.is_probe) {
            *self.breaker.state() = State::Closed { failures: 0 };
        }
    }

    /// How it has gone.
    pub(crate) fn settle(mut self, outcome: Outcome, now: Instant) {
        if outcome == Outcome::Success {
            self.answered();
        }
        let breaker = Arc::clone(&self.breaker);
        let mut state = breaker.state();
        match (*state, outcome) {
            (State::Closed { .. }, Outcome::Success) => *state = State::Closed { failures: 0 },
            (State::Closed { failures }, Outcome::Failure) => {
                let failures = failures.saturating_add(1);
                *state = State::Closed { failures };
                if failures >= breaker.failures_max {
                    breaker.open(&mut state, now);
                }
            }
            (State::Probing { .. }, Outcome::Failure) if self.is_probe => {
                self.is_probe = false;
                breaker.open(&mut state, now);
            }
            // What was let through before it opened says nothing of now.
            (State::Open { .. } | State::Probing { .. }, _) => {}
        }
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        if self.is_probe {
            let mut state = self.breaker.state();
            if let State::Probing { since } = *state {
                *state = State::Open { until: since };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN_MS: u64 = 100;

    fn breaker() -> Arc<Breaker> {
        Arc::new(Breaker::new(&BreakerConfig {
            failures_max: 3,
            open_ms: OPEN_MS,
        }))
    }

    /// Reads a course: `s` a success, `f` a failure, `d` dropped, `a` answered and then failed, `.` refused, `+` the breaker's time.
    fn check(course: &str) {
        let (breaker, mut now) = (breaker(), Instant::now());
        for (at, step) in course.chars().enumerate() {
            if step == '+' {
                now += Duration::from_millis(OPEN_MS);
                continue;
            }
            let passage = breaker.pass(now);
            assert_eq!(passage.is_err(), step == '.', "{course} at {at}");
            let Ok(mut passage) = passage else { continue };
            match step {
                's' => passage.settle(Outcome::Success, now),
                'f' => passage.settle(Outcome::Failure, now),
                'a' => {
                    passage.answered();
                    passage.settle(Outcome::Failure, now);
                }
                _ => drop(passage),
            }
        }
    }

    #[test]
    fn courses() {
        check("ffsffsff");
        check("fff..");
        check("ffdf.");
        check("fff.+s" /* closed again, and counting from none */);
        check("fff+sffsfff.");
        check("fff+f.+f.+sff");
        check("fff+dd+s");
        check("fff+aff.");
    }

    #[test]
    fn one_probe_at_a_time() {
        let (breaker, now) = (breaker(), Instant::now());
        for _ in 0..3 {
            breaker.pass(now).unwrap().settle(Outcome::Failure, now);
        }
        let millis = Duration::from_millis;
        assert_eq!(breaker.pass(now + millis(40)).unwrap_err(), millis(60));
        assert_eq!(breaker.pass(now + millis(99)).unwrap_err(), millis(1));
        let later = now + millis(100);
        let mut probe = breaker.pass(later).unwrap();
        assert_eq!(breaker.pass(later).unwrap_err(), millis(OPEN_MS));
        probe.answered();
        assert!(breaker.pass(later).is_ok());
    }

    #[test]
    fn what_began_before_it_opened_changes_nothing() {
        let (breaker, now) = (breaker(), Instant::now());
        let (early, late) = (breaker.pass(now).unwrap(), breaker.pass(now).unwrap());
        for _ in 0..3 {
            breaker.pass(now).unwrap().settle(Outcome::Failure, now);
        }
        early.settle(Outcome::Success, now);
        late.settle(Outcome::Failure, now + Duration::from_millis(50));
        assert!(breaker.pass(now).is_err());
        assert!(breaker.pass(now + Duration::from_millis(100)).is_ok());
    }
}
