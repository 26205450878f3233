//! The current time, and times as text.

use domain::Timestamp;
use prost_types::Timestamp as ProtoTimestamp;
use runtime::clock::Clock;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;

/// The current time of this machine.
pub(crate) fn now() -> Timestamp {
    Timestamp(Clock::System.now_nanos())
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

/// Formats a time in UTC, to the second; empty if it is absent or out of range.
pub(crate) fn seconds(time: Option<&ProtoTimestamp>) -> String {
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    time.and_then(|time| OffsetDateTime::from_unix_timestamp(time.seconds).ok())
        .and_then(|time| time.format(&format).ok())
        .unwrap_or_default()
}
