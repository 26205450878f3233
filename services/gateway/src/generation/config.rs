//! What runs keep to, and the bounds of these settings.

use std::time::Duration;

use runtime::config::{Bounds, Checks, Validate};
use serde::{Deserialize, Serialize};

const RUNS: Bounds<usize> = Bounds {
    min: 1,
    max: 10_000,
    unit: "runs",
};
const RUNS_WAITING: Bounds<usize> = Bounds {
    min: 0,
    max: 10_000,
    unit: "runs",
};
const RUN_WAIT: Bounds<u64> = Bounds {
    min: 0,
    max: 60_000,
    unit: "ms",
};
const FOLLOWERS: Bounds<usize> = Bounds {
    min: 1,
    max: 100_000,
    unit: "followers",
};
/// Parts are kept for longer than any run may take.
const RUN_TIMEOUT: Bounds<u64> = Bounds {
    min: 1_000,
    max: 1_800_000,
    unit: "ms",
};
const DRAIN: Bounds<u64> = Bounds {
    min: 0,
    max: 600_000,
    unit: "ms",
};
const KEEP_ALIVE: Bounds<u64> = Bounds {
    min: 50,
    max: 60_000,
    unit: "ms",
};
const ABANDONED_AFTER: Bounds<u64> = Bounds {
    min: 150,
    max: 600_000,
    unit: "ms",
};
const SWEEP_EVERY: Bounds<u64> = Bounds {
    min: 50,
    max: 60_000,
    unit: "ms",
};
const SUMMARIES: Bounds<usize> = Bounds {
    min: 0,
    max: 256,
    unit: "summaries",
};
/// How many signs of life a run may miss before it counts as abandoned; so one late answer does not end it.
const MISSED_SIGNS_MIN: u64 = 3;

/// What runs keep to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationConfig {
    /// Most runs that are made here at once; more wait for their turn, which is fair between tenants.
    pub runs_max: usize,
    /// Most runs of one tenant that wait for their turn; more are refused.
    pub runs_waiting_max: usize,
    /// The longest that a run waits for its turn, in ms; 0: it is refused at once.
    pub run_wait_ms: u64,
    /// Most readers who follow runs here at once; more are refused.
    pub followers_max: usize,
    /// The longest that a run may take, in ms.
    pub run_timeout_ms: u64,
    /// How long runs may go on once the gateway is ending, in ms.
    pub drain_ms: u64,
    /// After how long a silence a run says that it goes on, in ms.
    pub keep_alive_ms: u64,
    /// After how long a silence any gateway ends a run as abandoned, in ms; at least three times `keep_alive_ms`.
    pub abandoned_after_ms: u64,
    /// How often the active runs are looked through, in ms, up to a quarter sooner or later.
    pub sweep_every_ms: u64,
    /// Most histories that are summarised here at once; 0: none is.
    pub summaries_max: usize,
}

impl Default for GenerationConfig {
    fn default() -> Self {
        Self {
            runs_max: 1_000,
            runs_waiting_max: 200,
            run_wait_ms: 2_000,
            followers_max: 4_000,
            run_timeout_ms: 600_000,
            drain_ms: 10_000,
            keep_alive_ms: 5_000,
            abandoned_after_ms: 15_000,
            sweep_every_ms: 5_000,
            summaries_max: 4,
        }
    }
}

impl Validate for GenerationConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.bounds("runs_max", self.runs_max, &RUNS);
        checks.bounds("runs_waiting_max", self.runs_waiting_max, &RUNS_WAITING);
        checks.bounds("run_wait_ms", self.run_wait_ms, &RUN_WAIT);
        checks.bounds("followers_max", self.followers_max, &FOLLOWERS);
        checks.bounds("run_timeout_ms", self.run_timeout_ms, &RUN_TIMEOUT);
        checks.bounds("drain_ms", self.drain_ms, &DRAIN);
        checks.bounds("keep_alive_ms", self.keep_alive_ms, &KEEP_ALIVE);
        checks.bounds(
            "abandoned_after_ms",
            self.abandoned_after_ms,
            &ABANDONED_AFTER,
        );
        checks.bounds("sweep_every_ms", self.sweep_every_ms, &SWEEP_EVERY);
        checks.bounds("summaries_max", self.summaries_max, &SUMMARIES);
        if self.abandoned_after_ms < self.keep_alive_ms.saturating_mul(MISSED_SIGNS_MIN) {
            let mend = "is less than three times keep_alive_ms; give that or more".to_owned();
            checks.invalid("abandoned_after_ms", mend);
        }
    }
}

/// The same as the code uses it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) runs_max: usize,
    pub(super) run_timeout: Duration,
    pub(super) drain: Duration,
    pub(super) keep_alive: Duration,
    pub(super) abandoned_after: Duration,
    pub(super) sweep_every: Duration,
}

impl Rules {
    pub(super) fn of(config: &GenerationConfig) -> Self {
        Self {
            runs_max: config.runs_max,
            run_timeout: Duration::from_millis(config.run_timeout_ms),
            drain: Duration::from_millis(config.drain_ms),
            keep_alive: Duration::from_millis(config.keep_alive_ms),
            abandoned_after: Duration::from_millis(config.abandoned_after_ms),
            sweep_every: Duration::from_millis(config.sweep_every_ms),
        }
    }
}
