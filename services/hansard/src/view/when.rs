//! Times for people.

use prost_types::Timestamp;
use time::OffsetDateTime;
use time::macros::format_description;

/// A time to the second, in UTC; empty when there is none, or one that cannot be shown.
#[must_use]
pub fn seconds(time: Option<&Timestamp>) -> String {
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    time.and_then(|time| OffsetDateTime::from_unix_timestamp(time.seconds).ok())
        .and_then(|time| time.format(&format).ok())
        .unwrap_or_default()
}
