//! The configuration of runs, with its bounds.

use std::time::Duration;

use runtime::config::{Bounds, Checks, Validate};
use serde::{Deserialize, Serialize};

const RUNS: Bounds<usize> = Bounds::new(1..=10_000, "runs");
/// The maximum is below the retention of the streams of parts.
const RUN_TIMEOUT: Bounds<u64> = Bounds::new(1_000..=1_800_000, "ms");
const DRAIN: Bounds<u64> = Bounds::new(0..=600_000, "ms");
const ABANDONED_AFTER: Bounds<u64> = Bounds::new(150..=600_000, "ms");
/// Keep-alive intervals without a part before a run counts as abandoned. One late answer of the writer must not end a run.
const MISSED_KEEP_ALIVES_MIN: u32 = 3;
/// Sweeps while a run becomes abandoned. A closed run is finished by the second sweep that sees it, so a gateway has at least
/// three quarters of an interval to finish its own run while the writer is away.
const SWEEPS_UNTIL_ABANDONED: u32 = 3;
/// Maximum interval of keep-alives.
const KEEP_ALIVE_MAX: Duration = Duration::from_secs(5);

/// The configuration of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GenerationConfig {
    /// Maximum number of concurrent runs of this gateway. Further runs wait in a queue that is fair between tenants.
    /// Raise it if runs wait and memory is free.
    pub runs_max: usize,
    /// Maximum wait of a run in the queue, in ms; 0: a run that cannot start at once is rejected. It is no setting.
    #[serde(skip)]
    pub run_wait_ms: u64,
    /// Maximum number of concurrent followers of runs on this gateway. Further followers are rejected. It is no setting.
    #[serde(skip)]
    pub followers_max: usize,
    /// Maximum duration of a run, in ms. Raise it for agents whose models think for longer.
    pub run_timeout_ms: u64,
    /// How long runs may continue after the shutdown has begun, in ms. Raise it if runs are cut at a restart.
    pub drain_ms: u64,
    /// A run without parts for this long is ended as abandoned, by any gateway, in ms; the active runs are checked three times as
    /// often. Lower it so that runs of a lost gateway end sooner; raise it if the writer may be away for longer.
    pub abandoned_after_ms: u64,
}

impl Default for GenerationConfig {
    fn default() -> Self {
        Self {
            runs_max: 1_000,
            run_wait_ms: 2_000,
            followers_max: 4_000,
            run_timeout_ms: 600_000,
            drain_ms: 10_000,
            abandoned_after_ms: 15_000,
        }
    }
}

impl GenerationConfig {
    /// A run without parts for this long publishes a keep-alive part.
    pub(super) fn keep_alive(&self) -> Duration {
        KEEP_ALIVE_MAX.min(self.abandoned_after() / MISSED_KEEP_ALIVES_MIN)
    }

    /// A run without parts for this long is ended.
    pub(super) fn abandoned_after(&self) -> Duration {
        Duration::from_millis(self.abandoned_after_ms)
    }

    /// Interval between two sweeps over the active runs, plus or minus up to 25%.
    pub(super) fn sweep_interval(&self) -> Duration {
        self.abandoned_after() / SWEEPS_UNTIL_ABANDONED
    }
}

impl Validate for GenerationConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.bounds("runs_max", self.runs_max, &RUNS);
        checks.bounds("run_timeout_ms", self.run_timeout_ms, &RUN_TIMEOUT);
        checks.bounds("drain_ms", self.drain_ms, &DRAIN);
        checks.bounds("abandoned_after_ms", self.abandoned_after_ms, &ABANDONED_AFTER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A third of the time after which a run is abandoned, at most five seconds.
    #[test]
    fn a_run_may_miss_keep_alives() {
        for (abandoned_after_ms, expected_ms) in [(15_000, 5_000), (600_000, 5_000), (6_000, 2_000), (150, 50)] {
            let config = GenerationConfig { abandoned_after_ms, ..GenerationConfig::default() };
            assert_eq!(config.keep_alive(), Duration::from_millis(expected_ms), "{abandoned_after_ms}");
        }
    }

    #[test]
    fn active_runs_are_swept_three_times_until_one_is_abandoned() {
        for (abandoned_after_ms, expected_ms) in [(15_000, 5_000), (600_000, 200_000), (150, 50)] {
            let config = GenerationConfig { abandoned_after_ms, ..GenerationConfig::default() };
            assert_eq!(config.sweep_interval(), Duration::from_millis(expected_ms), "{abandoned_after_ms}");
        }
    }
}
