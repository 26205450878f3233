//! A token bucket whose size may change between uses.

use std::time::Duration;

const MS_PER_MINUTE: u64 = 60_000;
/// Upper bound of the retry delay.
pub const RETRY_AFTER_MAX: Duration = Duration::from_mins(10);

/// A bucket with the amount of one minute, which is refilled evenly.
///
/// A use larger than the bucket succeeds if the bucket is full, and empties it; otherwise it could never succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bucket {
    /// The amount that is taken and not yet refilled at `at_ms`.
    taken: u64,
    at_ms: u64,
}

/// The bucket does not contain enough. Nothing was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Empty {
    /// The amount that is taken and not yet refilled.
    pub taken: u64,
    /// The time until the use succeeds, without other uses.
    pub retry_after: Duration,
}

impl Bucket {
    /// Takes an amount from a bucket of `per_minute`. A time before the last use counts as that of the last use.
    ///
    /// # Errors
    /// [`Empty`].
    pub fn take(&mut self, now_ms: u64, per_minute: u64, amount: u64) -> Result<(), Empty> {
        let taken = self.taken_at(now_ms, per_minute);
        let wanted = amount.min(per_minute);
        let room = per_minute.saturating_sub(taken);
        if wanted > room || per_minute == 0 {
            let missing = taken.saturating_add(wanted).saturating_sub(per_minute);
            return Err(Empty { taken, retry_after: refill_time(missing, per_minute) });
        }
        *self = Self { taken: taken.saturating_add(wanted), at_ms: now_ms.max(self.at_ms) };
        Ok(())
    }

    /// Takes an amount regardless of the rest, so that later uses wait longer.
    pub fn charge(&mut self, now_ms: u64, per_minute: u64, amount: u64) {
        *self = Self { taken: self.taken_at(now_ms, per_minute).saturating_add(amount), at_ms: now_ms.max(self.at_ms) };
    }

    /// The amount that is taken and not yet refilled at a time.
    #[must_use]
    pub fn taken_at(&self, now_ms: u64, per_minute: u64) -> u64 {
        let elapsed = now_ms.saturating_sub(self.at_ms);
        let exact = u128::from(per_minute) * u128::from(elapsed) / u128::from(MS_PER_MINUTE);
        let refilled = u64::try_from(exact).unwrap_or(u64::MAX);
        self.taken.saturating_sub(refilled)
    }
}

fn refill_time(missing: u64, per_minute: u64) -> Duration {
    if per_minute == 0 {
        return RETRY_AFTER_MAX;
    }
    let missing_ms = u128::from(missing.max(1)) * u128::from(MS_PER_MINUTE);
    let ms = u64::try_from(missing_ms.div_ceil(u128::from(per_minute)));
    ms.map_or(RETRY_AFTER_MAX, Duration::from_millis).min(RETRY_AFTER_MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_bucket_is_refilled_evenly() {
        let mut bucket = Bucket::default();
        let mut check = |now_ms, amount, retry_after_ms: Option<u64>| {
            let seen = bucket.take(now_ms, 600, amount).err().map(|empty| empty.retry_after.as_millis());
            assert_eq!(seen, retry_after_ms.map(u128::from), "{amount} at {now_ms}");
        };
        check(1_000, 600, None);
        check(1_000, 1, Some(100));
        check(1_099, 1, Some(100));
        check(1_100, 1, None);
        check(1_100, 10, Some(1_000));
        check(900, 1, Some(100));
        check(70_000, 600, None);
        check(70_000, 601, Some(60_000));
        check(130_000, 601, None);
    }

    #[test]
    fn a_charge_delays_later_uses() {
        let mut bucket = Bucket::default();
        bucket.charge(0, 600, 900);
        let empty = bucket.take(0, 600, 1).unwrap_err();
        assert_eq!((empty.taken, empty.retry_after.as_millis()), (900, 30_100));
        assert!(bucket.take(30_100, 600, 1).is_ok());
    }

    #[test]
    fn an_empty_quota_allows_nothing() {
        let empty = Bucket::default().take(0, 0, 0).unwrap_err();
        assert_eq!(empty.retry_after, RETRY_AFTER_MAX);
    }

    proptest! {
        /// At most the bucket and the refilled amount is taken; a use succeeds after its retry delay.
        #[test]
        fn uses_are_bounded_by_the_refill(
            per_minute in 1_u64..10_000,
            uses in prop::collection::vec((0_u64..5_000, 1_u64..2_000), 1..60),
        ) {
            let mut bucket = Bucket::default();
            let (mut now, mut passed) = (0, 0);
            for (wait, amount) in uses {
                now += wait;
                match bucket.take(now, per_minute, amount) {
                    Ok(()) => passed += amount.min(per_minute),
                    Err(empty) => {
                        let later = now + u64::try_from(empty.retry_after.as_millis()).unwrap();
                        let mut waited = bucket;
                        prop_assert!(waited.take(later + 1, per_minute, amount).is_ok());
                    }
                }
                prop_assert!(passed <= per_minute + per_minute * now / MS_PER_MINUTE + 60);
            }
        }
    }
}
