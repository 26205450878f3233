//! The months of audit logs, in UTC.

use std::fmt;

use domain::{ConversationId, Timestamp, Violation};
use time::{Date, Month, OffsetDateTime};

/// The last year that is written with four digits.
const YEAR_MAX: u16 = 9_999;

/// A month of the calendar, in UTC. Its text is such as `2026-11`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AuditMonth {
    year: u16,
    /// 1 to 12.
    month: u8,
}

impl AuditMonth {
    /// The month of a time.
    #[must_use]
    pub fn of(time: Timestamp) -> Self {
        let date = OffsetDateTime::from_unix_timestamp(time.seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        Self { year: u16::try_from(date.year()).unwrap_or_default(), month: u8::from(date.month()) }
    }

    /// Parses text such as `2026-11`; `None`: it is no month.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (year, month) = text.split_once('-').filter(|(year, month)| year.len() == 4 && month.len() == 2)?;
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(year) || !is_number(month) {
            return None;
        }
        let month = Self { year: year.parse().ok()?, month: month.parse().ok()? };
        (1..=12).contains(&month.month).then_some(month)
    }

    /// The month before.
    #[must_use]
    pub fn earlier(self) -> Self {
        match self.month {
            1 => Self { year: self.year.saturating_sub(1), month: 12 },
            month => Self { month: month.saturating_sub(1), ..self },
        }
    }

    /// The month after.
    #[must_use]
    pub fn later(self) -> Self {
        match self.month {
            12 => Self { year: self.year.saturating_add(1).min(YEAR_MAX), month: 1 },
            month => Self { month: month.saturating_add(1), ..self },
        }
    }

    /// The first instant of the month; the nearest one that a [`Timestamp`] has.
    #[must_use]
    pub fn start(self) -> Timestamp {
        let first = Month::try_from(self.month).ok();
        let first = first.and_then(|month| Date::from_calendar_date(self.year.into(), month, 1).ok());
        let seconds = first.map_or(0, |date| date.midnight().assume_utc().unix_timestamp());
        let nearest = if seconds < 0 { i64::MIN } else { i64::MAX };
        Timestamp::from_parts(seconds, 0).unwrap_or(Timestamp(nearest))
    }

    /// The id of the log of the month, such as `history:audit:2026-11`.
    ///
    /// # Errors
    /// Never: the text has characters of ids only.
    pub fn log(self) -> Result<ConversationId, Violation> {
        ConversationId::parse(format!("{}{self}", ConversationId::AUDIT_PREFIX))
    }
}

impl fmt::Display for AuditMonth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NANOS_PER_SECOND: i64 = 1_000_000_000;

    #[test]
    fn times_have_a_month_with_a_log() {
        for (seconds, expected) in [(0, "1970-01"), (1_795_996_799, "2026-11"), (1_796_083_200, "2026-12")] {
            let month = AuditMonth::of(Timestamp(seconds * NANOS_PER_SECOND));
            assert_eq!(month.to_string(), expected);
            let log = month.log().unwrap();
            assert_eq!(log.as_str(), format!("history:audit:{expected}"));
            assert!(log.is_audit_log() && log.is_history());
        }
    }

    #[test]
    fn months_are_parsed_and_follow_each_other() {
        for text in ["2026", "2026-13", "2026-00", "26-11", "2026-1", "a-11", "+026-11", "2026-+1", ""] {
            assert_eq!(AuditMonth::parse(text), None, "{text}");
        }
        for (earlier, later) in [("2026-11", "2026-12"), ("2026-12", "2027-01")] {
            let (earlier, later) = (AuditMonth::parse(earlier).unwrap(), AuditMonth::parse(later).unwrap());
            assert_eq!((earlier.later(), later.earlier()), (later, earlier));
            assert!(earlier < later);
        }
    }

    #[test]
    fn a_month_starts_at_its_first_instant() {
        for text in ["1970-01", "2026-11", "2026-12", "2027-01"] {
            let month = AuditMonth::parse(text).unwrap();
            assert_eq!(AuditMonth::of(month.start()), month);
            assert_eq!(AuditMonth::of(Timestamp(month.start().0 - 1)), month.earlier());
        }
        assert_eq!(AuditMonth::parse("9999-12").unwrap().start(), Timestamp(i64::MAX));
        assert_eq!(AuditMonth::parse("0000-01").unwrap().start(), Timestamp(i64::MIN));
    }
}
