//! The age of an idempotency key. It decides where an earlier commit with the key can be found. Pure; checked by
//! `key_age/model.rs`.
//!
//! The stream remembers a key for its duplicate window. Only young keys rely on the window, and a key from the future is
//! rejected, so that no key is still young after the window of its commit:
//! `age_max + leeway + 2 × clock skew + time of an append ≤ window`.

use std::time::Duration;

use domain::{CommitId, Timestamp};
use event_log::DUPLICATE_WINDOW;
use uuid::Uuid;

/// Maximum time of a key after the clock of the writer. The clocks of callers may differ by this time.
pub const CLOCK_LEEWAY: Duration = Duration::from_mins(1);
/// Subtracted from the duplicate window: the clocks of two writers may differ by 30 s each from the true time, and time passes
/// between a decision and its commit.
const WINDOW_RESERVE: Duration = Duration::from_mins(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyAge {
    /// Its time is more than [`CLOCK_LEEWAY`] in the future. It is rejected, unless it was used before.
    Ahead,
    /// The duplicate window of the stream contains every commit with the key.
    Young {
        /// The earliest time of such a commit.
        since: Timestamp,
    },
    /// It has no time, or the window may have passed. It is looked up.
    Old,
}

/// Maximum age of a UUIDv7 key that relies on the duplicate window of the stream.
pub(crate) const fn young_key_age_max() -> Duration {
    DUPLICATE_WINDOW.saturating_sub(CLOCK_LEEWAY).saturating_sub(WINDOW_RESERVE)
}

/// The age of a key by the clock of the writer.
pub(crate) fn age(key: CommitId, now: Timestamp) -> KeyAge {
    made_at(key.0).map_or(KeyAge::Old, |made_at| age_of(made_at, now))
}

fn age_of(made_at: Timestamp, now: Timestamp) -> KeyAge {
    if made_at > after(now, CLOCK_LEEWAY) {
        return KeyAge::Ahead;
    }
    if made_at < before(now, young_key_age_max()) {
        return KeyAge::Old;
    }
    KeyAge::Young { since: before(made_at, CLOCK_LEEWAY) }
}

fn made_at(key: Uuid) -> Option<Timestamp> {
    if key.get_version_num() != 7 {
        return None;
    }
    let (seconds, nanos) = key.get_timestamp()?.to_unix();
    Timestamp::from_parts(i64::try_from(seconds).ok()?, nanos)
}

pub(crate) fn before(time: Timestamp, duration: Duration) -> Timestamp {
    Timestamp(time.0.saturating_sub(nanos(duration)))
}

fn after(time: Timestamp, duration: Duration) -> Timestamp {
    Timestamp(time.0.saturating_add(nanos(duration)))
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod model;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::{NoContext, Timestamp as UuidTime};

    use super::*;

    const NOW_S: i64 = 1_800_000_000;

    fn seconds(time_s: i64) -> Timestamp {
        Timestamp(time_s * 1_000_000_000)
    }

    #[test]
    fn keys_are_ahead_young_or_old() {
        let check = |key: Uuid, expected: &str| {
            let age = match age(CommitId(key), seconds(NOW_S)) {
                KeyAge::Ahead => "ahead",
                KeyAge::Young { .. } => "young",
                KeyAge::Old => "old",
            };
            assert_eq!(age, expected, "{key}");
        };
        let aged = |age_s: i64| {
            let at = u64::try_from(NOW_S - age_s).unwrap();
            Uuid::new_v7(UuidTime::from_unix(NoContext, at, 0))
        };
        let oldest = i64::try_from(young_key_age_max().as_secs()).unwrap();
        let leeway = i64::try_from(CLOCK_LEEWAY.as_secs()).unwrap();
        check(aged(0), "young");
        check(aged(oldest), "young");
        check(aged(oldest + 1), "old");
        check(aged(-leeway), "young");
        check(aged(-leeway - 1), "ahead");
        check(Uuid::new_v4(), "old");
        check(Uuid::nil(), "old");
    }

    proptest! {
        /// No accepted key is young after the window of the stream, for all skews of the clocks of two writers.
        #[test]
        fn no_accepted_key_becomes_young_later(
            made_at in -100_000_i64..100_000,
            accepted_at in -100_000_i64..100_000,
            later in 0_i64..100_000,
            skews in (-30_i64..=30, -30_i64..=30),
        ) {
            let accepted = age_of(seconds(made_at), seconds(accepted_at + skews.0));
            prop_assume!(accepted != KeyAge::Ahead);
            let again = age_of(seconds(made_at), seconds(accepted_at + later + skews.1));
            if matches!(again, KeyAge::Young { .. }) {
                prop_assert!(later < i64::try_from(DUPLICATE_WINDOW.as_secs()).unwrap());
            }
        }
    }
}
