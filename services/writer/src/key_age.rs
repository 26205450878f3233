//! What the time in an idempotency key says: who can still know of an earlier commit under it. Pure; `key_age/model.rs` checks it.
//!
//! The stream forgets a key once its duplicate window has passed since the commit. A key is therefore left to the window only
//! while it is young, and no key is accepted so early that it is still young when the window has passed:
//! `age_max + leeway + 2 × clock skew + time of an append ≤ window`.

use std::time::Duration;

use domain::{CommitId, Timestamp};
use event_log::DUPLICATE_WINDOW;
use uuid::Uuid;

/// How far ahead of a writer's clock a key may be dated: callers' clocks may be off by as much.
pub const CLOCK_LEEWAY: Duration = Duration::from_mins(1);
/// Kept back from the duplicate window for what lies between two commits under one key: the clocks of two writers, which may
/// be off by 30 s each, and the time from a decision to its commit.
const WINDOW_RESERVE: Duration = Duration::from_mins(2);

/// What a key's own time says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyAge {
    /// It is dated further ahead than [`CLOCK_LEEWAY`]: not accepted, unless it is known.
    Ahead,
    /// The stream's duplicate window knows whether it was used: every commit under it is from this time or later.
    Young {
        /// The earliest time of such a commit.
        since: Timestamp,
    },
    /// It says no time, or one so long ago that the window may have passed: it is looked up.
    Old,
}

/// Up to which age a UUIDv7 key is left to the stream's duplicate window alone.
#[must_use]
pub const fn young_key_age_max() -> Duration {
    DUPLICATE_WINDOW
        .saturating_sub(CLOCK_LEEWAY)
        .saturating_sub(WINDOW_RESERVE)
}

/// The age of a key by a writer's clock.
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
    KeyAge::Young {
        since: before(made_at, CLOCK_LEEWAY),
    }
}

fn made_at(key: Uuid) -> Option<Timestamp> {
    if key.get_version_num() != 7 {
        return None;
    }
    let (seconds, nanos) = key.get_timestamp()?.to_unix();
    Timestamp::from_parts(i64::try_from(seconds).ok()?, nanos)
}

fn before(time: Timestamp, duration: Duration) -> Timestamp {
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
    fn keys_say_their_age() {
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
        /// No accepted key is young once the stream may have forgotten it, whatever the two writers' clocks say.
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
