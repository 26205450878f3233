//! Wall time, passed in so that tests can hold it still.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A source of wall time in nanoseconds since 1970-01-01T00:00:00Z; clones share it.
///
/// Wall time may step back; whoever needs an order must not take it from here.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The machine's own clock.
    #[default]
    System,
    /// A clock that moves only when told to.
    Manual(ManualClock),
}

impl Clock {
    /// The time now; held at the ends of the range (years 1677 and 2262) beyond it.
    #[must_use]
    pub fn now_nanos(&self) -> i64 {
        match self {
            Self::System => nanos_since_epoch(SystemTime::now()),
            Self::Manual(clock) => clock.0.load(Ordering::SeqCst),
        }
    }
}

/// The hand of a manual clock; clones move the same one.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that stands at `nanos` since the epoch.
    #[must_use]
    pub fn at(nanos: i64) -> Self {
        Self(Arc::new(AtomicI64::new(nanos)))
    }

    /// Moves to `nanos` since the epoch, forwards or back.
    pub fn set(&self, nanos: i64) {
        self.0.store(nanos, Ordering::SeqCst);
    }

    /// Moves forwards, and stays at the end of the range when it would pass it.
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
    fn a_manual_clock_moves_only_when_told() {
        let hand = ManualClock::at(5);
        let clock = Clock::Manual(hand.clone());
        assert_eq!(clock.now_nanos(), 5);
        hand.advance(Duration::from_nanos(7));
        assert_eq!(clock.now_nanos(), 12);
        hand.set(i64::MAX);
        hand.advance(Duration::from_secs(1));
        assert_eq!(clock.now_nanos(), i64::MAX);
    }

    #[test]
    fn time_is_held_at_the_ends_of_the_range() {
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
