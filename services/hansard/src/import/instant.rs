//! Parses times of data sets: RFC 3339, or seconds since 1970.

use domain::{Timestamp, Violation, ViolationReason};
use prost_types::Timestamp as ProtoTimestamp;
use serde_json::value::RawValue;

use super::fields::read;
use crate::view::when;

const NANOS_DIGITS: usize = 9;

/// Parses a JSON value: RFC 3339 text, or a number of seconds with an optional fraction.
pub(super) fn from_json(value: &RawValue) -> Result<ProtoTimestamp, Violation> {
    let text = value.get();
    if text.starts_with('"') { from_rfc3339(&read::<String>(text)?) } else { from_seconds(text) }
}

/// Parses RFC 3339 text, such as `2018-05-02T19:38:15Z`.
pub(super) fn from_rfc3339(text: &str) -> Result<ProtoTimestamp, Violation> {
    let time = when::parse_rfc3339(text).ok_or_else(invalid)?;
    Ok(wire::time::to_proto(time))
}

fn from_seconds(text: &str) -> Result<ProtoTimestamp, Violation> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = whole.parse().map_err(|_| invalid())?;
    // Further digits are dropped.
    let digits = format!("{fraction:0<NANOS_DIGITS$.NANOS_DIGITS$}");
    let nanos: u32 = digits.parse().map_err(|_| invalid())?;
    if text.starts_with('-') && nanos > 0 {
        return timestamp(seconds.saturating_sub(1), 1_000_000_000 - nanos);
    }
    timestamp(seconds, nanos)
}

fn timestamp(seconds: i64, nanos: u32) -> Result<ProtoTimestamp, Violation> {
    Timestamp::from_parts(seconds, nanos).map(wire::time::to_proto).ok_or_else(invalid)
}

fn invalid() -> Violation {
    Violation::new(
        ViolationReason::OutOfRange,
        "must be a time from 1677 to 2262, as RFC 3339 text or seconds since 1970",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: Option<(i64, i32)>) {
        let value: Box<RawValue> = serde_json::from_str(json).unwrap();
        let time = from_json(&value).ok().map(|time| (time.seconds, time.nanos));
        assert_eq!(time, expected, "{json}");
    }

    #[test]
    fn texts_and_seconds_are_times() {
        check(r#""2018-05-02T19:38:15Z""#, Some((1_525_289_895, 0)));
        check(r#""2018-05-02T21:38:15.25+02:00""#, Some((1_525_289_895, 250_000_000)));
        check("1525289895", Some((1_525_289_895, 0)));
        check("1525289895.123456789", Some((1_525_289_895, 123_456_789)));
        check("1525289895.5", Some((1_525_289_895, 500_000_000)));
        check("-0.25", Some((-1, 750_000_000)));
        check("0", Some((0, 0)));
    }

    #[test]
    fn invalid_times_are_rejected() {
        for json in [r#""yesterday""#, r#""2018-05-02""#, "1e9", "true", "[]", "99999999999999"] {
            check(json, None);
        }
    }
}
