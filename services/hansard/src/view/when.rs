//! Formats times for output.

use prost_types::Timestamp;
use time::OffsetDateTime;
use time::macros::format_description;

/// Formats a time in UTC, to the second; empty if it is absent or out of range.
#[must_use]
pub fn seconds(time: Option<&Timestamp>) -> String {
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    time.and_then(|time| OffsetDateTime::from_unix_timestamp(time.seconds).ok())
        .and_then(|time| time.format(&format).ok())
        .unwrap_or_default()
}
