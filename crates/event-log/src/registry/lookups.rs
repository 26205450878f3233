//! How often unknown ids may be looked up: they come from callers, who may send any number of them.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most lookups in one [`WINDOW`].
const LOOKUPS_MAX: u32 = 50;
const WINDOW: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Lookups(Mutex<Option<Window>>);

#[derive(Debug, Clone, Copy)]
struct Window {
    began: Instant,
    used: u32,
}

impl Lookups {
    /// Whether one more may be made now.
    pub(super) fn take(&self) -> bool {
        self.take_at(Instant::now())
    }

    fn take_at(&self, now: Instant) -> bool {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let current = window.filter(|window| now.duration_since(window.began) < WINDOW);
        let mut current = current.unwrap_or(Window {
            began: now,
            used: 0,
        });
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
        let lookups = Lookups::default();
        let begin = Instant::now();
        let taken = |at: Instant| (0..60).filter(|_| lookups.take_at(at)).count();
        assert_eq!(taken(begin), 50);
        assert_eq!(taken(begin + Duration::from_millis(999)), 0);
        assert_eq!(taken(begin + WINDOW), 50);
    }
}
