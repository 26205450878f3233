//! Times. The server writes UTC; the script of the page shows them in the reader's time zone.

use domain::Timestamp;
use maud::{Markup, html};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A time as an element that programs and scripts can read.
#[must_use]
pub fn time(at: Timestamp) -> Markup {
    let date_time = date_time(at);
    let machine = date_time.and_then(|time| time.format(&Rfc3339).ok());
    html! { time datetime=(machine.unwrap_or_default()) { (utc(at)) } }
}

/// A time in UTC, in seconds: `2026-11-22 05:00:00 UTC`.
#[must_use]
pub fn utc(at: Timestamp) -> String {
    let Some(time) = date_time(at) else {
        return String::new();
    };
    let (hour, minute, second) = time.time().as_hms();
    format!("{} {hour:02}:{minute:02}:{second:02} UTC", time.date())
}

/// The time between two events, in tenths of a second: `1.5 s`.
#[must_use]
pub fn duration(from: Timestamp, to: Timestamp) -> String {
    let tenths = to.0.saturating_sub(from.0).max(0) / 100_000_000;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

fn date_time(at: Timestamp) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp_nanos(at.0.into()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_readable_by_people_and_programs() {
        let at = Timestamp(1_795_323_600_500_000_000);
        assert_eq!(utc(at), "2026-11-22 05:00:00 UTC");
        let expected = r#"<time datetime="2026-11-22T05:00:00.5Z">2026-11-22 05:00:00 UTC</time>"#;
        assert_eq!(time(at).into_string(), expected);
        assert_eq!(utc(Timestamp(i64::MIN)), "1677-09-21 00:12:43 UTC");
    }
}
