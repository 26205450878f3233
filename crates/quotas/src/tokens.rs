//! Token usage of one day: the rows of all processes, and the tokens that this process counted since.

use std::time::Duration;

const MS_PER_DAY: u64 = 86_400_000;

/// The tokens of one subject on one day.
///
/// `rows` is the count of all processes and may lag. `own` is the count of this process since its first read of the rows. The
/// larger result is used: it is exact with one process, and with several it lacks the tokens that others have not reported
/// yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DayTokens {
    day: u64,
    first: Option<u64>,
    rows: u64,
    own: u64,
    read_at_ms: u64,
    /// The corrections that `rows` contains.
    corrections: u64,
}

/// A read of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowTokens {
    /// The count.
    pub tokens: u64,
    /// How often it was corrected. This number never falls, the count may.
    pub corrections: u64,
}

/// The UTC day of a time, in days since 1970-01-01.
#[must_use]
pub fn day_of(now_ms: u64) -> u64 {
    now_ms / MS_PER_DAY
}

/// The time until the next UTC day.
#[must_use]
pub fn until_next_day(now_ms: u64) -> Duration {
    Duration::from_millis(MS_PER_DAY - now_ms % MS_PER_DAY)
}

impl DayTokens {
    /// The tokens used on the day of this time.
    #[must_use]
    pub fn used(&self, now_ms: u64) -> u64 {
        if self.day != day_of(now_ms) {
            return 0;
        }
        let own = self.first.unwrap_or_default().saturating_add(self.own);
        self.rows.max(own)
    }

    /// Whether the rows were read within this time.
    #[must_use]
    pub fn is_fresh(&self, now_ms: u64, fresh: Duration) -> bool {
        // A clock that was set back is no reason to keep a count.
        let age = now_ms.checked_sub(self.read_at_ms).map(Duration::from_millis);
        self.day == day_of(now_ms) && self.first.is_some() && age.is_some_and(|age| age < fresh)
    }

    /// Counts tokens of this process.
    pub fn add(&mut self, now_ms: u64, tokens: u64) {
        self.begin(now_ms);
        self.own = self.own.saturating_add(tokens);
    }

    /// Stores a read of the rows. After a correction the count restarts from them.
    pub fn read(&mut self, now_ms: u64, rows: RowTokens) {
        self.begin(now_ms);
        self.read_at_ms = now_ms;
        if rows.corrections < self.corrections {
            // A replica without the last correction.
            return;
        }
        if rows.corrections > self.corrections && self.first.is_some() {
            (self.first, self.rows, self.own) = (None, 0, 0);
        }
        self.corrections = rows.corrections;
        // Assumes that the rows contain the tokens counted before the first read.
        let first = rows.tokens.saturating_sub(self.own);
        self.first.get_or_insert(first);
        self.rows = self.rows.max(rows.tokens);
    }

    fn begin(&mut self, now_ms: u64) {
        let day = day_of(now_ms);
        if self.day != day {
            *self = Self { day, ..Self::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uncorrected(tokens: u64) -> RowTokens {
        RowTokens { tokens, corrections: 0 }
    }

    #[test]
    fn corrected_rows_replace_what_was_counted() {
        let now = 5 * MS_PER_DAY;
        let mut counted = DayTokens::default();
        let mut check = |change: &dyn Fn(&mut DayTokens), expected: u64| {
            change(&mut counted);
            assert_eq!(counted.used(now), expected);
        };
        let read =
            |tokens, corrections| move |counted: &mut DayTokens| counted.read(now, RowTokens { tokens, corrections });
        check(&read(100, 0), 100);
        check(&|counted| counted.add(now, u64::MAX), u64::MAX);
        check(&read(u64::MAX, 0), u64::MAX);
        check(&read(90, 1), 90);
        check(&|counted| counted.add(now, 5), 95);
        // A replica lags.
        check(&read(u64::MAX, 0), 95);
        check(&read(90, 1), 95);
        // The rows have what is counted, and what another process counted.
        check(&read(97, 1), 97);
        check(&read(200, 2), 200);
        check(&read(0, 3), 0);
    }

    #[test]
    fn a_first_read_contains_earlier_corrections() {
        let now = 5 * MS_PER_DAY;
        let mut counted = DayTokens::default();
        counted.add(now, 7);
        counted.read(now, RowTokens { tokens: 3, corrections: 2 });
        assert_eq!(counted.used(now), 7);
    }

    #[test]
    fn own_tokens_count_until_the_rows_have_them() {
        let now = 5 * MS_PER_DAY;
        let mut tokens = DayTokens::default();
        tokens.read(now, uncorrected(100));
        assert_eq!(tokens.used(now), 100);
        tokens.add(now, 7);
        assert_eq!(tokens.used(now), 107);
        tokens.read(now, uncorrected(100));
        assert_eq!(tokens.used(now), 107);
        tokens.read(now, uncorrected(107));
        assert_eq!(tokens.used(now), 107);
        // Another process has counted 50.
        tokens.read(now, uncorrected(157));
        assert_eq!(tokens.used(now), 157);
    }

    #[test]
    fn a_clock_that_was_set_keeps_no_count() {
        let now = 40 * MS_PER_DAY + MS_PER_DAY / 2;
        let mut tokens = DayTokens::default();
        tokens.read(now, uncorrected(9));
        assert!(tokens.is_fresh(now, Duration::from_secs(5)));
        for offset_ms in [1, 3_600_000, MS_PER_DAY, 30 * MS_PER_DAY] {
            assert!(!tokens.is_fresh(now - offset_ms, Duration::from_secs(5)), "{offset_ms} back");
            assert!(!tokens.is_fresh(now + 5_000 + offset_ms, Duration::from_secs(5)), "{offset_ms} ahead");
        }
    }

    #[test]
    fn a_day_ends_at_midnight() {
        let last = 6 * MS_PER_DAY - 1;
        let mut tokens = DayTokens::default();
        tokens.read(last, uncorrected(9));
        assert!(tokens.is_fresh(last, Duration::from_millis(1)));
        assert_eq!((tokens.used(last), tokens.used(last + 1)), (9, 0));
        assert!(!tokens.is_fresh(last + 1, Duration::from_secs(9)));
        tokens.add(last + 1, 2);
        assert_eq!(tokens.used(last + 1), 2);
        assert_eq!(until_next_day(last), Duration::from_millis(1));
        assert_eq!(until_next_day(last + 1), Duration::from_hours(24));
    }
}
