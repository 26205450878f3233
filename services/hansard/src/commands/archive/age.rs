//! The value of `--older-than`: `90d`, `36h`.

use std::time::Duration;

use domain::Timestamp;

/// The minimum: well above the stream's duplicate window, in which the stream itself recognises retries.
const HOURS_MIN: u64 = 1;
/// The maximum.
const HOURS_MAX: u64 = 24 * 36_500;

/// The age of a conversation's last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Age(Duration);

/// Reads an age.
pub(super) fn parse(text: &str) -> Result<Age, String> {
    let invalid = || "must be days or hours from 1h to 36500d, such as 90d".to_owned();
    let parsed = if let Some(days) = text.strip_suffix('d') {
        days.parse::<u64>().ok().and_then(|days| days.checked_mul(24))
    } else {
        let hours = text.strip_suffix('h').ok_or_else(invalid)?;
        hours.parse().ok()
    };
    let hours = parsed.filter(|hours| (HOURS_MIN..=HOURS_MAX).contains(hours));
    Ok(Age(Duration::from_hours(hours.ok_or_else(invalid)?)))
}

impl Age {
    /// The time of something that has this age now.
    pub(super) fn before(self, now: Timestamp) -> Timestamp {
        now.before(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_days_or_hours() {
        let check = |text: &str, hours: Option<u64>| {
            let expected = hours.map(|hours| Age(Duration::from_hours(hours)));
            assert_eq!(parse(text).ok(), expected, "{text}");
        };
        check("90d", Some(2_160));
        check("1h", Some(1));
        check("36500d", Some(876_000));
        for text in ["", "0h", "0d", "90", "90m", "-1d", "36501d", "1.5d", "d"] {
            check(text, None);
        }
        assert!(Duration::from_hours(HOURS_MIN) > event_log::DUPLICATE_WINDOW * 2);
        assert!(Duration::from_hours(HOURS_MIN) >= archive::CACHED_HEAD_AGE_MAX * 2);
    }

    #[test]
    fn ages_are_counted_back_from_now() {
        let hour = 3_600_000_000_000;
        assert_eq!(parse("2h").unwrap().before(Timestamp(3 * hour)), Timestamp(hour));
        assert_eq!(parse("2h").unwrap().before(Timestamp(i64::MIN)), Timestamp(i64::MIN));
    }
}
