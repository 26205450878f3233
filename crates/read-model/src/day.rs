//! Days of UTC: usage is summed by day.

use std::fmt;

use domain::Timestamp;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueRef};
use sqlx::{Decode, Encode, Postgres, Type};
use thiserror::Error;
use time::format_description::well_known::Iso8601;
use time::{Date, Duration, OffsetDateTime};

/// Maximum number of days of one read of usage: a leap year.
pub const USAGE_DAYS_MAX: u32 = 366;
const NANOS_PER_DAY: i64 = 86_400_000_000_000;
/// Days from 1970-01-01 to 2000-01-01, the epoch of Postgres.
const POSTGRES_EPOCH_DAYS: i32 = 10_957;

/// A day of UTC, formatted as `2026-11-22`. The number counts days since 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(i32);

impl Day {
    /// The day of a time.
    #[must_use]
    pub fn from_time(time: Timestamp) -> Self {
        // All timestamps are within 110,000 days of 1970.
        Self(i32::try_from(time.0.div_euclid(NANOS_PER_DAY)).unwrap_or_default())
    }

    /// The first time of the day that a timestamp can represent.
    #[must_use]
    pub fn start(self) -> Timestamp {
        Timestamp(i64::from(self.0).saturating_mul(NANOS_PER_DAY))
    }

    /// The day that is `days` earlier.
    #[must_use]
    pub fn minus(self, days: u32) -> Self {
        Self(self.0.saturating_sub_unsigned(days))
    }

    /// Parses `YYYY-MM-DD`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let date = Date::parse(text, &Iso8601::DATE).ok()?;
        let day = i32::try_from((date - OffsetDateTime::UNIX_EPOCH.date()).whole_days()).ok()?;
        // Other forms of ISO 8601 are rejected: each day has one name.
        let day = Self(day);
        (day.to_string() == text).then_some(day)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = Duration::days(i64::from(self.0));
        let date = OffsetDateTime::UNIX_EPOCH.date().saturating_add(since);
        date.fmt(f)
    }
}

/// The days from a first to a last, inclusive: 1 to [`USAGE_DAYS_MAX`] days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DayRange {
    first: Day,
    last: Day,
}

/// Why two days do not form a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DayRangeError {
    /// The last day is before the first.
    #[error("the last day is before the first")]
    Backwards,
    /// The range is too long: read it in parts.
    #[error("the range has {days} days, but at most {USAGE_DAYS_MAX} can be read at once")]
    TooLong {
        /// Number of days.
        days: u64,
    },
}

impl DayRange {
    /// The days, in order.
    pub fn days(self) -> impl Iterator<Item = Day> {
        (self.first.0..=self.last.0).map(Day)
    }

    /// The days from `first` to `last`, inclusive.
    ///
    /// # Errors
    /// [`DayRangeError`].
    pub fn new(first: Day, last: Day) -> Result<Self, DayRangeError> {
        let later = i64::from(last.0) - i64::from(first.0);
        let days = u64::try_from(later + 1).unwrap_or(0);
        match days {
            0 => Err(DayRangeError::Backwards),
            days if days > u64::from(USAGE_DAYS_MAX) => Err(DayRangeError::TooLong { days }),
            _ => Ok(Self { first, last }),
        }
    }

    /// The first day.
    #[must_use]
    pub fn first(self) -> Day {
        self.first
    }

    /// The last day, inclusive.
    #[must_use]
    pub fn last(self) -> Day {
        self.last
    }
}

impl Type<Postgres> for Day {
    fn type_info() -> PgTypeInfo {
        <Date as Type<Postgres>>::type_info()
    }
}

impl PgHasArrayType for Day {
    fn array_type_info() -> PgTypeInfo {
        Date::array_type_info()
    }
}

impl Encode<'_, Postgres> for Day {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let days = self.0.saturating_sub(POSTGRES_EPOCH_DAYS);
        <i32 as Encode<'_, Postgres>>::encode_by_ref(&days, buffer)
    }
}

impl Decode<'_, Postgres> for Day {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        let days = <i32 as Decode<'_, Postgres>>::decode(value)?;
        Ok(Self(days.saturating_add(POSTGRES_EPOCH_DAYS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_day_of_utc() {
        for (nanos, expected) in [
            (0, "1970-01-01"),
            (NANOS_PER_DAY - 1, "1970-01-01"),
            (NANOS_PER_DAY, "1970-01-02"),
            (-1, "1969-12-31"),
            (946_684_800_000_000_000, "2000-01-01"),
            (i64::MAX, "2262-04-11"),
            (i64::MIN, "1677-09-21"),
        ] {
            let day = Day::from_time(Timestamp(nanos));
            assert_eq!(day.to_string(), expected);
            assert_eq!(Day::parse(expected), Some(day));
            assert_eq!(Day::from_time(day.start()), day);
        }
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in ["", "2026-02-29", "2026-2-1", "20260201", "2026-W05-7", "2026-02-01T00:00:00Z", " 2026-02-01"] {
            assert_eq!(Day::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_range_is_bounded() {
        let check = |last: &str, expected: Result<(), DayRangeError>| {
            let range = Day::parse("2024-01-01")
                .zip(Day::parse(last))
                .map(|(first, last)| DayRange::new(first, last).map(drop));
            assert_eq!(range, Some(expected), "{last}");
        };
        check("2024-01-01", Ok(()));
        check("2024-12-31", Ok(()));
        check("2025-01-01", Err(DayRangeError::TooLong { days: 367 }));
        check("2023-12-31", Err(DayRangeError::Backwards));
    }
}
