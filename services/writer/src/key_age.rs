//! The age of an idempotency key. It decides where an earlier commit with the key can be found. Pure; checked by
//! `key_age/model.rs`.
//!
//! The stream remembers a key for its duplicate window, by the clocks of the servers. So the age is judged by their time, never by
//! the clock of the writer. Only young keys rely on the window, and a key from the future is rejected, so that no key is still
//! young after the window of its commit:
//! `age_max + leeway + 2 × skew of servers + decision to publish ≤ window`.

use std::time::Duration;

use domain::{CommitId, Timestamp};
use event_log::{DUPLICATE_WINDOW, ServerTime};
use uuid::Uuid;

/// Maximum time of a key after the clock of the server. The clocks of callers may differ by this time.
pub const CLOCK_LEEWAY: Duration = Duration::from_mins(1);
/// How long a decision is valid. Then the age is judged again before the append.
pub(crate) const DECISION_AGE_MAX: Duration = Duration::from_secs(30);
/// Subtracted from the duplicate window: the difference between two servers (30 s), before and after; the age of a decision (30 s); a
/// call of the longest request timeout (60 s); and less than 30 s in which its last publish arrives.
const WINDOW_RESERVE: Duration = Duration::from_mins(3);

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

/// The age of a key by the time of the server.
pub(crate) fn age(key: CommitId, now: ServerTime) -> KeyAge {
    made_at(key.0).map_or(KeyAge::Old, |made_at| age_of(made_at, now))
}

fn age_of(made_at: Timestamp, now: ServerTime) -> KeyAge {
    if made_at > now.earliest.after(CLOCK_LEEWAY) {
        return KeyAge::Ahead;
    }
    if made_at < now.latest.before(young_key_age_max()) {
        return KeyAge::Old;
    }
    KeyAge::Young { since: made_at.before(CLOCK_LEEWAY) }
}

fn made_at(key: Uuid) -> Option<Timestamp> {
    if key.get_version_num() != 7 {
        return None;
    }
    let (seconds, nanos) = key.get_timestamp()?.to_unix();
    Timestamp::from_parts(i64::try_from(seconds).ok()?, nanos)
}

#[cfg(test)]
mod model;

#[cfg(test)]
mod tests {
    use event_log::{REQUEST_TIMEOUT_MS_MAX, SERVER_SKEW_MAX};
    use proptest::prelude::*;
    use uuid::{NoContext, Timestamp as UuidTime};

    use super::*;

    const NOW_S: i64 = 1_800_000_000;

    fn seconds(time_s: i64) -> Timestamp {
        Timestamp(time_s * 1_000_000_000)
    }

    /// The time of a server, whose answer took so long.
    fn within(earliest_s: i64, way_s: i64) -> ServerTime {
        ServerTime { earliest: seconds(earliest_s), latest: seconds(earliest_s + way_s) }
    }

    fn whole(duration: Duration) -> i64 {
        i64::try_from(duration.as_secs()).unwrap()
    }

    /// The longest time from a decision to its last publish, without its way.
    fn publish_time_max() -> Duration {
        DECISION_AGE_MAX + Duration::from_millis(REQUEST_TIMEOUT_MS_MAX)
    }

    #[test]
    fn keys_are_ahead_young_or_old() {
        let check = |key: Uuid, way_s: i64, expected: &str| {
            let age = match age(CommitId(key), within(NOW_S, way_s)) {
                KeyAge::Ahead => "ahead",
                KeyAge::Young { .. } => "young",
                KeyAge::Old => "old",
            };
            assert_eq!(age, expected, "{key} {way_s}");
        };
        let aged = |age_s: i64| {
            let at = u64::try_from(NOW_S - age_s).unwrap();
            Uuid::new_v7(UuidTime::from_unix(NoContext, at, 0))
        };
        let (oldest, leeway) = (whole(young_key_age_max()), whole(CLOCK_LEEWAY));
        check(aged(0), 0, "young");
        check(aged(oldest), 0, "young");
        check(aged(oldest + 1), 0, "old");
        check(aged(-leeway), 0, "young");
        check(aged(-leeway - 1), 0, "ahead");
        // What is not known counts against the key.
        check(aged(oldest - 2), 2, "young");
        check(aged(oldest - 1), 2, "old");
        check(aged(-leeway), 2, "young");
        check(aged(-leeway - 1), 2, "ahead");
        check(Uuid::new_v4(), 0, "old");
        check(Uuid::nil(), 0, "old");
    }

    #[test]
    fn the_reserve_covers_servers_and_publishes() {
        let arrival = Duration::from_secs(30);
        assert_eq!(WINDOW_RESERVE, SERVER_SKEW_MAX * 2 + publish_time_max() + arrival);
        assert_eq!(young_key_age_max(), Duration::from_mins(6));
    }

    proptest! {
        /// No publish of a young key arrives after the window of an earlier commit of the key, for all clocks of servers.
        #[test]
        fn no_accepted_key_becomes_young_later(
            made_at in -2_000_i64..2_000,
            accepted_at in -2_000_i64..2_000,
            later in 0_i64..2_000,
            ways in (0_i64..60, 0_i64..60),
            until_stored in (0_i64..60, 0_i64..120),
            skews in (0_i64..=30, 0_i64..=30, 0_i64..=30, 0_i64..=30),
        ) {
            let (first, second) = (accepted_at, accepted_at + later);
            let asked = |at: i64, skew: i64, way: i64| within(at + skew - way, way);
            let accepted = age_of(seconds(made_at), asked(first, skews.0, ways.0));
            prop_assume!(accepted != KeyAge::Ahead);
            let stored_at = first + until_stored.0 + skews.1;
            let again = age_of(seconds(made_at), asked(second, skews.2, ways.1));
            if matches!(again, KeyAge::Young { .. }) {
                let published_at = second + until_stored.1 + skews.3;
                prop_assert!(published_at - stored_at < whole(DUPLICATE_WINDOW));
            }
        }
    }
}
