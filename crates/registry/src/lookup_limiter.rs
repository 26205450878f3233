//! Rate limit of lookups of unknown ids, which callers can send in any number.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum lookups in one [`WINDOW`].
const LOOKUPS_MAX: u32 = 50;
const WINDOW: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct LookupLimiter(Mutex<Option<Window>>);

#[derive(Debug, Clone, Copy)]
struct Window {
    start: Instant,
    used: u32,
}

impl LookupLimiter {
    /// Whether another lookup is allowed now; counts it.
    pub(crate) fn try_acquire(&self) -> bool {
        self.try_acquire_at(Instant::now())
    }

    fn try_acquire_at(&self, now: Instant) -> bool {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut current =
            window.filter(|window| now.duration_since(window.start) < WINDOW).unwrap_or(Window { start: now, used: 0 });
        current.used = current.used.saturating_add(1);
        *window = Some(current);
        current.used <= LOOKUPS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_bound_in_a_window() {
        let limiter = LookupLimiter::default();
        let begin = Instant::now();
        let taken = |at: Instant| (0..60).filter(|_| limiter.try_acquire_at(at)).count();
        assert_eq!(taken(begin), 50);
        assert_eq!(taken(begin + Duration::from_millis(999)), 0);
        assert_eq!(taken(begin + WINDOW), 50);
    }
}
