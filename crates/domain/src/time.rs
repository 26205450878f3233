//! Timestamps. Callers pass them in; the domain reads no clock.

use std::time::Duration;

/// Nanoseconds since the Unix epoch, UTC. Covers the years 1677 to 2262.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

/// Nanoseconds in a second.
const NANOS_PER_SECOND: i64 = 1_000_000_000;

impl Timestamp {
    /// From seconds and nanoseconds since the epoch; `None` outside the range.
    #[must_use]
    pub fn from_parts(seconds: i64, nanos: u32) -> Option<Self> {
        if i64::from(nanos) >= NANOS_PER_SECOND {
            return None;
        }
        seconds.checked_mul(NANOS_PER_SECOND)?.checked_add(i64::from(nanos)).map(Self)
    }

    /// Whole seconds since the epoch, rounded down.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(NANOS_PER_SECOND)
    }

    /// The nanoseconds past [`Timestamp::seconds`], 0 to 999,999,999.
    #[must_use]
    pub fn subsecond_nanos(self) -> u32 {
        u32::try_from(self.0.rem_euclid(NANOS_PER_SECOND)).unwrap_or(0)
    }

    /// The time this long before, at least the start of the range.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(duration)))
    }

    /// The time this long after, at most the end of the range.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_round_trip_also_before_the_epoch() {
        for nanos in [0, 1, -1, 999_999_999, -999_999_999, i64::MAX, i64::MIN + NANOS_PER_SECOND] {
            let time = Timestamp(nanos);
            assert_eq!(Timestamp::from_parts(time.seconds(), time.subsecond_nanos()), Some(time));
        }
        assert_eq!(Timestamp::from_parts(0, 1_000_000_000), None);
        assert_eq!(Timestamp::from_parts(i64::MAX, 0), None);
    }

    #[test]
    fn times_before_and_after_stay_in_the_range() {
        let second = Duration::from_secs(1);
        assert_eq!(Timestamp(5).after(second), Timestamp(1_000_000_005));
        assert_eq!(Timestamp(5).before(second), Timestamp(-999_999_995));
        assert_eq!(Timestamp(1).after(Duration::MAX), Timestamp(i64::MAX));
        assert_eq!(Timestamp(-2).before(Duration::MAX), Timestamp(i64::MIN));
    }
}
