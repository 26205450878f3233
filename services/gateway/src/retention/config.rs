//! The settings of retention, and their bounds.

use std::time::Duration;

use runtime::config::{Bounds, Checks, Validate};
use serde::{Deserialize, Serialize};

const EVERY: Bounds<u64> = Bounds {
    min: 0,
    max: 86_400,
    unit: "s",
};
const CHANGES: Bounds<u32> = Bounds {
    min: 1,
    max: 100_000,
    unit: "changes",
};
const AT_ONCE: Bounds<u32> = Bounds {
    min: 1,
    max: 64,
    unit: "changes",
};
const PER_SECOND: Bounds<u32> = Bounds {
    min: 1,
    max: 1_000,
    unit: "changes",
};

/// How agents' rules of retention are seen to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetentionConfig {
    /// How long it is from one round to the next, in s, up to a quarter less or more; 0: this gateway does none.
    pub every_seconds: u64,
    /// Most conversations that a round changes; the next one goes on where it ended.
    pub changes_max: u32,
    /// Most changes under way at once.
    pub changes_at_once: u32,
    /// Most changes a second.
    pub changes_per_second: u32,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self {
            every_seconds: 300,
            changes_max: 1_000,
            changes_at_once: 8,
            changes_per_second: 50,
        }
    }
}

impl RetentionConfig {
    /// How long it is from one round to the next; `None`: no round is done.
    #[must_use]
    pub fn every(&self) -> Option<Duration> {
        (self.every_seconds > 0).then(|| Duration::from_secs(self.every_seconds))
    }

    /// What each round keeps to.
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

/// The longest that a round waits for the rows to hold what was recorded before it.
const ROWS_WAIT: Duration = Duration::from_secs(10);

/// What a round keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most conversations that it changes, or tries to.
    pub changes_max: u32,
    /// Most changes under way at once.
    pub changes_at_once: u32,
    /// How long it is from the beginning of one change to that of the next, at least.
    pub change_every: Duration,
    /// The longest wait for the rows to hold what was recorded before it.
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
    fn no_time_between_rounds_means_no_rounds() {
        let check = |every_seconds: u64, expected: Option<u64>| {
            let config = RetentionConfig {
                every_seconds,
                ..RetentionConfig::default()
            };
            assert_eq!(config.every(), expected.map(Duration::from_secs));
        };
        check(0, None);
        check(1, Some(1));
    }
}
