//! Circuit breaker: stops requests to a server after too many failures, and probes it with single requests.
//!
//! Closed, it counts consecutive failures and opens at the bound. After its open time it permits one request, the probe. The
//! breaker closes if the server answers the probe, and opens again otherwise. Callers pass the current time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::config::BreakerConfig;

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Success,
    Failure,
}

/// Permits one request. A permit that is dropped without an outcome does not change the count of failures.
#[derive(Debug)]
pub(crate) struct BreakerPermit {
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

    /// Permits a request.
    ///
    /// # Errors
    /// The time until the next request may be permitted.
    pub(crate) fn acquire(self: &Arc<Self>, now: Instant) -> Result<BreakerPermit, Duration> {
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
        Ok(BreakerPermit { breaker: Arc::clone(self), is_probe })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, state: &mut State, now: Instant) {
        *state = State::Open { until: now + self.open_for };
    }
}

impl BreakerPermit {
    /// Records that the server began to answer. This closes the breaker if the request is the probe.
    pub(crate) fn record_answer(&mut self) {
        if std::mem::take(&mut self.is_probe) {
            *self.breaker.state() = State::Closed { failures: 0 };
        }
    }

    pub(crate) fn record(mut self, outcome: Outcome, now: Instant) {
        if outcome == Outcome::Success {
            self.record_answer();
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
            // Requests from before the breaker opened do not describe the current state of the server.
            (State::Open { .. } | State::Probing { .. }, _) => {}
        }
    }
}

impl Drop for BreakerPermit {
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
        Arc::new(Breaker::new(&BreakerConfig { failures_max: 3, open_ms: OPEN_MS }))
    }

    /// Steps: `s` success, `f` failure, `d` dropped, `a` answered and then failed, `.` rejected, `+` the open time passes.
    fn check(steps: &str) {
        let (breaker, mut now) = (breaker(), Instant::now());
        for (at, step) in steps.chars().enumerate() {
            if step == '+' {
                now += Duration::from_millis(OPEN_MS);
                continue;
            }
            let permit = breaker.acquire(now);
            assert_eq!(permit.is_err(), step == '.', "{steps} at {at}");
            let Ok(mut permit) = permit else { continue };
            match step {
                's' => permit.record(Outcome::Success, now),
                'f' => permit.record(Outcome::Failure, now),
                'a' => {
                    permit.record_answer();
                    permit.record(Outcome::Failure, now);
                }
                _ => drop(permit),
            }
        }
    }

    #[test]
    fn sequences_of_outcomes() {
        check("ffsffsff");
        check("fff..");
        check("ffdf.");
        check("fff.+s");
        check("fff+sffsfff.");
        check("fff+f.+f.+sff");
        check("fff+dd+s");
        check("fff+aff.");
    }

    #[test]
    fn one_probe_at_a_time() {
        let (breaker, now) = (breaker(), Instant::now());
        for _ in 0..3 {
            breaker.acquire(now).unwrap().record(Outcome::Failure, now);
        }
        let millis = Duration::from_millis;
        assert_eq!(breaker.acquire(now + millis(40)).unwrap_err(), millis(60));
        assert_eq!(breaker.acquire(now + millis(99)).unwrap_err(), millis(1));
        let later = now + millis(100);
        let mut probe = breaker.acquire(later).unwrap();
        assert_eq!(breaker.acquire(later).unwrap_err(), millis(OPEN_MS));
        probe.record_answer();
        assert!(breaker.acquire(later).is_ok());
    }

    #[test]
    fn requests_from_before_it_opened_are_ignored() {
        let (breaker, now) = (breaker(), Instant::now());
        let (early, late) = (breaker.acquire(now).unwrap(), breaker.acquire(now).unwrap());
        for _ in 0..3 {
            breaker.acquire(now).unwrap().record(Outcome::Failure, now);
        }
        early.record(Outcome::Success, now);
        late.record(Outcome::Failure, now + Duration::from_millis(50));
        assert!(breaker.acquire(now).is_err());
        assert!(breaker.acquire(now + Duration::from_millis(100)).is_ok());
    }
}
