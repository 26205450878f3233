//! Bounds how often a failure that repeats is logged.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Minimum time between two lines about the same failure.
pub const LOG_INTERVAL: Duration = Duration::from_mins(1);

/// Decides which failures of one kind are logged: the first one, then at most one in each [`LOG_INTERVAL`]. Clones share the decision.
#[derive(Debug, Clone, Default)]
pub struct FailureLog(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    logged_at: Option<Instant>,
    unlogged: u64,
}

impl FailureLog {
    /// Counts a failure. `Some`: log it, together with the number of failures since the last line.
    #[must_use]
    pub fn failed(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = state.logged_at.is_none_or(|at| now.saturating_duration_since(at) >= LOG_INTERVAL);
        if !is_due {
            state.unlogged = state.unlogged.saturating_add(1);
            return None;
        }
        state.logged_at = Some(now);
        Some(std::mem::take(&mut state.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_failures_are_logged_once_in_an_interval() {
        let (failures, began) = (FailureLog::default(), Instant::now());
        let just_before = LOG_INTERVAL.checked_sub(Duration::from_millis(1)).unwrap();
        for (after, expected) in [
            (Duration::ZERO, Some(0)),
            (Duration::ZERO, None),
            (just_before, None),
            (LOG_INTERVAL, Some(2)),
            (LOG_INTERVAL + just_before, None),
            (LOG_INTERVAL * 3, Some(1)),
        ] {
            assert_eq!(failures.clone().failed(began + after), expected, "{after:?}");
        }
    }
}
