//! Parses ranges of days.

use domain::{Violation, ViolationReason};
use read_model::{Day, DayRange};

/// The days of the fields `from` and `to`, inclusive.
///
/// # Errors
/// A field is no day, or the range is not one of 1 to [`read_model::USAGE_DAYS_MAX`] days.
pub fn day_range(from: &str, to: &str) -> Result<DayRange, Violation> {
    let first = day(from, "from")?;
    let last = day(to, "to")?;
    DayRange::new(first, last)
        .map_err(|error| Violation::new(ViolationReason::OutOfRange, format!("is rejected: {error}")).within("to"))
}

fn day(text: &str, field: &str) -> Result<Day, Violation> {
    let rule = "is no day: write 2026-11-22";
    Day::parse(text).ok_or_else(|| Violation::new(ViolationReason::Malformed, rule).within(field))
}
