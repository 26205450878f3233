//! The configuration of the retention job, with its bounds.

use std::time::Duration;

use runtime::config::{Bounds, Checks, Validate};
use serde::{Deserialize, Serialize};

use crate::bounds::count;

const EVERY: Bounds<u64> = count(0, 86_400, "s");
const CHANGES: Bounds<u32> = count(1, 100_000, "changes");
const AT_ONCE: Bounds<u32> = count(1, 64, "changes");
const PER_SECOND: Bounds<u32> = count(1, 1_000, "changes");

/// The configuration of the retention job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetentionConfig {
    /// Interval between two rounds, in s, plus or minus up to 25%; 0: this gateway runs no rounds.
    pub every_seconds: u64,
    /// Maximum number of conversations that the rules change in a round, and of those whose expired documents it deletes. The next
    /// round continues where it ended.
    pub changes_max: u32,
    /// Maximum number of concurrent changes.
    pub changes_at_once: u32,
    /// Maximum number of changes per second.
    pub changes_per_second: u32,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self { every_seconds: 300, changes_max: 1_000, changes_at_once: 8, changes_per_second: 50 }
    }
}

impl RetentionConfig {
    /// The interval between two rounds; `None`: there are no rounds.
    #[must_use]
    pub fn every(&self) -> Option<Duration> {
        (self.every_seconds > 0).then(|| Duration::from_secs(self.every_seconds))
    }

    /// The limits of each round.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            changes_max: self.changes_max,
            changes_at_once: self.changes_at_once,
            change_every: Duration::from_secs(1) / self.changes_per_second.max(1),
            rows_wait: ROWS_WAIT,
        }
    }
}

impl Validate for RetentionConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.bounds("every_seconds", self.every_seconds, &EVERY);
        checks.bounds("changes_max", self.changes_max, &CHANGES);
        checks.bounds("changes_at_once", self.changes_at_once, &AT_ONCE);
        checks.bounds("changes_per_second", self.changes_per_second, &PER_SECOND);
    }
}

/// Maximum wait of a round for the rows to reach the end of the record.
const ROWS_WAIT: Duration = Duration::from_secs(10);

/// The limits of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of attempted changes by rules, and of attempted deletions of documents.
    pub changes_max: u32,
    /// Maximum number of concurrent changes.
    pub changes_at_once: u32,
    /// Minimum interval between the starts of two changes.
    pub change_every: Duration,
    /// Maximum wait for the rows to reach the end of the record.
    pub rows_wait: Duration,
}

#[cfg(test)]
mod tests {
    use runtime::config::{Sources, load};
    use serde_json::json;

    use super::*;

    #[test]
    fn every_setting_is_bounded() {
        let check = |key: &str, value: u64, expected: bool| {
            let settings = json!({ key: value });
            let taken = load::<RetentionConfig>(&Sources::new().flags(&settings));
            assert_eq!(taken.is_ok(), expected, "{settings}");
        };
        for (key, min, max) in [
            ("every_seconds", 0, 86_400),
            ("changes_max", 1, 100_000),
            ("changes_at_once", 1, 64),
            ("changes_per_second", 1, 1_000),
        ] {
            check(key, min, true);
            check(key, max, true);
            check(key, max + 1, false);
            if min > 0 {
                check(key, min - 1, false);
            }
        }
    }

    #[test]
    fn an_interval_of_zero_disables_rounds() {
        let check = |every_seconds: u64, expected: Option<u64>| {
            let config = RetentionConfig { every_seconds, ..RetentionConfig::default() };
            assert_eq!(config.every(), expected.map(Duration::from_secs));
        };
        check(0, None);
        check(1, Some(1));
    }
}
