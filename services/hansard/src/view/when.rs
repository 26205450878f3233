//! The current time, and times as text.

use domain::Timestamp;
use event_log::Record;
use prost_types::Timestamp as ProtoTimestamp;
use runtime::clock::Clock;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
const NANOS_PER_DAY: i64 = NANOS_PER_SECOND * SECONDS_PER_DAY;
/// Lists show the days that a key or a token has left below this number: those of [`KEY_END_WARNING`].
///
/// [`KEY_END_WARNING`]: registry::KEY_END_WARNING
const WARNED_DAYS: i64 = 14;

/// The current time of this machine.
pub(crate) fn now() -> Timestamp {
    Timestamp(Clock::System.now_nanos())
}

/// The current time of this machine, corrected by that of the record's servers.
pub(crate) fn record_time(record: &Record) -> Timestamp {
    Timestamp(record.clock_correction()(now().0))
}

/// Formats a time as RFC 3339; empty if its year does not have four digits.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(time.0.into()).ok();
    time.and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_default()
}

/// Parses RFC 3339 text; `None` if it is invalid or not from 1677 to 2262.
pub(crate) fn parse_rfc3339(text: &str) -> Option<Timestamp> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    Timestamp::from_parts(time.unix_timestamp(), time.nanosecond())
}

/// Parses the end of a key or a token: RFC 3339 text, or days from now such as `90d`.
///
/// # Errors
/// The text is neither, for a usage error.
pub(crate) fn parse_end(text: &str) -> Result<ProtoTimestamp, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u16>().ok());
    let end = match days {
        Some(days) => Some(Timestamp(now().0.saturating_add(i64::from(days) * NANOS_PER_DAY))),
        None => parse_rfc3339(text),
    };
    let rule = || "give days such as `90d`, or a time such as `2027-01-31T00:00:00Z`".to_owned();
    end.map(wire::time::to_proto).ok_or_else(rule)
}

/// Formats the end of a key or a token as [`seconds`], with the days that are left if they are few.
pub(crate) fn end(time: Option<&ProtoTimestamp>, now: Timestamp) -> String {
    let left = time.map(|time| time.seconds.saturating_sub(now.0 / NANOS_PER_SECOND).div_euclid(SECONDS_PER_DAY));
    match left {
        Some(days) if (0..WARNED_DAYS).contains(&days) => format!("{} ({days} days left)", seconds(time)),
        _ => seconds(time),
    }
}

/// Formats a time in UTC, to the second; empty if it is absent or out of range.
pub(crate) fn seconds(time: Option<&ProtoTimestamp>) -> String {
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    time.and_then(|time| OffsetDateTime::from_unix_timestamp(time.seconds).ok())
        .and_then(|time| time.format(&format).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_times_or_days_from_now() {
        let now = now().0 / NANOS_PER_SECOND;
        for (text, days) in [("0d", 0), ("90d", 90), ("65535d", 65_535)] {
            let end = parse_end(text).unwrap().seconds;
            assert!((0..5).contains(&(end - now - days * SECONDS_PER_DAY)), "{text}: {end}");
        }
        assert_eq!(parse_end("2027-01-31T00:00:00Z").unwrap().seconds, 1_801_353_600);
        for text in ["", "d", "-1d", "65536d", "1.5d", "90", "2027-01-31", "soon"] {
            assert!(parse_end(text).unwrap_err().contains("90d"), "{text}");
        }
    }

    #[test]
    fn lists_and_warnings_begin_at_once() {
        let seconds = registry::KEY_END_WARNING.as_secs();
        assert_eq!(i64::try_from(seconds), Ok(WARNED_DAYS * SECONDS_PER_DAY));
    }

    #[test]
    fn an_end_that_is_near_shows_its_days() {
        let check = |seconds: i64, expected: &str| {
            let time = ProtoTimestamp { seconds, nanos: 0 };
            assert_eq!(end(Some(&time), Timestamp(0)), expected);
        };
        check(14 * SECONDS_PER_DAY, "1970-01-15 00:00:00");
        check(14 * SECONDS_PER_DAY - 1, "1970-01-14 23:59:59 (13 days left)");
        check(0, "1970-01-01 00:00:00 (0 days left)");
        check(-1, "1969-12-31 23:59:59");
        assert_eq!(end(None, Timestamp(0)), "");
    }
}
