//! The configuration of runs, with its bounds.

use runtime::config::{Bounds, Checks, Validate};
use serde::{Deserialize, Serialize};

use crate::bounds::{count, ms};

const RUNS: Bounds<usize> = count(1, 10_000, "runs");
const RUNS_WAITING: Bounds<usize> = count(0, 10_000, "runs");
const RUN_WAIT: Bounds<u64> = ms(0, 60_000);
const FOLLOWERS: Bounds<usize> = count(1, 100_000, "followers");
/// The maximum is below the retention of the streams of parts.
const RUN_TIMEOUT: Bounds<u64> = ms(1_000, 1_800_000);
const DRAIN: Bounds<u64> = ms(0, 600_000);
const KEEP_ALIVE: Bounds<u64> = ms(50, 60_000);
const ABANDONED_AFTER: Bounds<u64> = ms(150, 600_000);
const SWEEP_EVERY: Bounds<u64> = ms(50, 60_000);
const SUMMARIES: Bounds<usize> = count(0, 256, "summaries");
/// Keep-alive intervals without a part before a run counts as abandoned. One late answer of the writer must not end a run.
const MISSED_KEEP_ALIVES_MIN: u64 = 3;

/// The configuration of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationConfig {
    /// Maximum number of concurrent runs of this gateway. Further runs wait in a queue that is fair between tenants.
    pub runs_max: usize,
    /// Maximum number of waiting runs per tenant. Further runs are rejected.
    pub runs_waiting_max: usize,
    /// Maximum wait of a run in the queue, in ms; 0: a run that cannot start at once is rejected.
    pub run_wait_ms: u64,
    /// Maximum number of concurrent followers of runs on this gateway. Further followers are rejected.
    pub followers_max: usize,
    /// Maximum duration of a run, in ms.
    pub run_timeout_ms: u64,
    /// How long runs may continue after the shutdown has begun, in ms.
    pub drain_ms: u64,
    /// A run without parts for this long publishes a keep-alive part, in ms.
    pub keep_alive_ms: u64,
    /// A run without parts for this long is ended as abandoned, by any gateway, in ms; at least three times `keep_alive_ms`.
    pub abandoned_after_ms: u64,
    /// Interval between two sweeps over the active runs, in ms, plus or minus up to 25%.
    pub sweep_every_ms: u64,
    /// Maximum number of concurrent summaries on this gateway; 0: none.
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
        checks.bounds("abandoned_after_ms", self.abandoned_after_ms, &ABANDONED_AFTER);
        checks.bounds("sweep_every_ms", self.sweep_every_ms, &SWEEP_EVERY);
        checks.bounds("summaries_max", self.summaries_max, &SUMMARIES);
        if self.abandoned_after_ms < self.keep_alive_ms.saturating_mul(MISSED_KEEP_ALIVES_MIN) {
            let error = "is less than three times keep_alive_ms; set at least that".to_owned();
            checks.invalid("abandoned_after_ms", error);
        }
    }
}
