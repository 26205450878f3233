//! Times in JSON: RFC 3339, in UTC, with nanoseconds.

use domain::Timestamp;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A time as text, such as `2026-11-22T05:00:00.123Z`.
#[must_use]
pub fn rfc3339(time: Timestamp) -> String {
    // RFC 3339 covers every timestamp.
    let time = OffsetDateTime::from_unix_timestamp_nanos(time.0.into());
    time.ok().and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_default()
}

/// Parses a time; `None`: not RFC 3339, or outside the years 1677 to 2262.
#[must_use]
pub fn timestamp(text: &str) -> Option<Timestamp> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    i64::try_from(time.unix_timestamp_nanos()).ok().map(Timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_round_trip() {
        for (nanos, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_500_000_000, "1970-01-01T00:00:01.5Z"),
            (1, "1970-01-01T00:00:00.000000001Z"),
            (-1, "1969-12-31T23:59:59.999999999Z"),
            (i64::MAX, "2262-04-11T23:47:16.854775807Z"),
            (i64::MIN, "1677-09-21T00:12:43.145224192Z"),
        ] {
            assert_eq!(rfc3339(Timestamp(nanos)), expected);
            assert_eq!(timestamp(expected), Some(Timestamp(nanos)));
        }
        for text in ["", "2026", "2026-11-22", "1500-01-01T00:00:00Z", "9999-01-01T00:00:00Z"] {
            assert_eq!(timestamp(text), None, "{text}");
        }
        let east = timestamp("1970-01-01T02:00:00+02:00");
        assert_eq!(east, Some(Timestamp(0)));
    }
}
