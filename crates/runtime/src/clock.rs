//! Wall-clock time. It is a parameter, so that tests control it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A source of wall-clock time in nanoseconds since 1970-01-01T00:00:00Z; clones share it.
///
/// The time may go backwards: do not order events by it.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The system clock.
    #[default]
    System,
    /// The system clock, corrected by the clocks of other machines.
    Corrected(Correction),
    /// A clock that only its owner moves.
    Manual(ManualClock),
}

impl Clock {
    /// The system clock with a correction: a function from the time that it shows to the right one.
    #[must_use]
    pub fn corrected(correction: impl Fn(i64) -> i64 + Send + Sync + 'static) -> Self {
        Self::Corrected(Correction(Arc::new(correction)))
    }

    /// The current time, clamped to the range of `i64` (years 1677 to 2262).
    #[must_use]
    pub fn now_nanos(&self) -> i64 {
        match self {
            Self::System => nanos_since_epoch(SystemTime::now()),
            Self::Corrected(correction) => (correction.0)(nanos_since_epoch(SystemTime::now())),
            Self::Manual(clock) => clock.0.load(Ordering::SeqCst),
        }
    }
}

/// The correction of a clock.
#[derive(Clone)]
pub struct Correction(Arc<dyn Fn(i64) -> i64 + Send + Sync>);

impl fmt::Debug for Correction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Correction").finish_non_exhaustive()
    }
}

/// A clock that is set by hand; clones share the time.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that shows `nanos` since the epoch.
    #[must_use]
    pub fn at(nanos: i64) -> Self {
        Self(Arc::new(AtomicI64::new(nanos)))
    }

    /// Sets the time to `nanos` since the epoch.
    pub fn set(&self, nanos: i64) {
        self.0.store(nanos, Ordering::SeqCst);
    }

    /// Moves the clock forwards, at most to the end of the range.
    pub fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_nanos()).unwrap_or(i64::MAX);
        self.set(self.0.load(Ordering::SeqCst).saturating_add(by));
    }
}

fn nanos_since_epoch(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |n| -n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_set_or_advanced() {
        let manual = ManualClock::at(5);
        let clock = Clock::Manual(manual.clone());
        assert_eq!(clock.now_nanos(), 5);
        manual.advance(Duration::from_nanos(7));
        assert_eq!(clock.now_nanos(), 12);
        manual.set(i64::MAX);
        manual.advance(Duration::from_secs(1));
        assert_eq!(clock.now_nanos(), i64::MAX);
    }

    #[test]
    fn a_corrected_clock_shows_the_right_time() {
        assert_eq!(Clock::corrected(|_| 7).now_nanos(), 7);
        assert!(Clock::corrected(|nanos| nanos).now_nanos() > 1_700_000_000_000_000_000);
    }

    #[test]
    fn time_is_clamped_to_the_range() {
        let second = Duration::from_secs(1);
        let century = second * 3600 * 24 * 365 * 100;
        let cases = [
            (UNIX_EPOCH, 0),
            (UNIX_EPOCH + second, 1_000_000_000),
            (UNIX_EPOCH - second, -1_000_000_000),
            (UNIX_EPOCH + century * 4, i64::MAX),
            (UNIX_EPOCH - century * 4, i64::MIN),
        ];
        for (time, expected) in cases {
            assert_eq!(nanos_since_epoch(time), expected);
        }
        assert!(Clock::System.now_nanos() > 1_700_000_000_000_000_000);
    }
}
