//! The configuration of the retention job, with its bounds.

use std::time::Duration;

use runtime::config::{Bounds, Checks, Validate};
use serde::{Deserialize, Serialize};

const EVERY: Bounds<u64> = Bounds::new(0..=86_400, "s");
/// Maximum number of conversations that the rules change in a round, and of those whose expired documents it deletes. The next
/// round continues where it ended.
const CHANGES_MAX: u32 = 1_000;
/// Maximum number of concurrent changes: few beside those of callers.
const CHANGES_AT_ONCE: u32 = 8;
/// Minimum interval between the starts of two changes: 50 per second, a small share of what the writer takes.
const CHANGE_EVERY: Duration = Duration::from_millis(20);

/// The configuration of the retention job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetentionConfig {
    /// Interval between two rounds, in s, plus or minus up to 25%; 0: this gateway runs no rounds. Lower it if rounds
    /// end as `cut`: each changes at most 1,000 conversations.
    pub every_seconds: u64,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self { every_seconds: 300 }
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
            changes_max: CHANGES_MAX,
            changes_at_once: CHANGES_AT_ONCE,
            change_every: CHANGE_EVERY,
            rows_wait: ROWS_WAIT,
        }
    }
}

impl Validate for RetentionConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.bounds("every_seconds", self.every_seconds, &EVERY);
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
        check("every_seconds", 0, true);
        check("every_seconds", 86_400, true);
        check("every_seconds", 86_401, false);
    }

    #[test]
    fn an_interval_of_zero_disables_rounds() {
        let check = |every_seconds: u64, expected: Option<u64>| {
            let config = RetentionConfig { every_seconds };
            assert_eq!(config.every(), expected.map(Duration::from_secs));
        };
        check(0, None);
        check(1, Some(1));
    }
}
