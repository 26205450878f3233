//! What the gateway tells of its runs.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_gateway_runs` | 1 | runs being made here |
//! | `hansard_gateway_runs_started_total` | runs | started here |
//! | `hansard_gateway_runs_finished_total{outcome}` | runs | whose finishing commit was made from here; `unrecordable` where not all could be kept |
//! | `hansard_gateway_run_seconds{outcome}` | s | from a run's start to its finishing commit, where both were made here |
//! | `hansard_gateway_run_parts_total` | parts | published |
//! | `hansard_gateway_run_publish_seconds` | s | from a batch of parts to the writer's answer, retries among it |
//! | `hansard_gateway_run_publish_retries_total` | batches | that were sent again |
//! | `hansard_gateway_run_first_part_seconds` | s | from a run's start to its first part, published |
//! | `hansard_gateway_run_followers` | 1 | readers who follow a run |
//! | `hansard_gateway_run_webhooks_total{outcome}` | calls | of tools that were posted; outcome `ok`, `refused`, `unreachable` or `forbidden` |
//! | `hansard_gateway_run_sweeps_total{outcome}` | sweeps | over the active runs; outcome `ok` or `failed` |
//! | `hansard_gateway_run_swept_total{found}` | runs | that a sweep ended (`abandoned`) or finished (`unfinished`) |
//! | `hansard_gateway_summaries_total{outcome}` | summaries | that were to be made; outcome `made`, `outrun`, or the failure's code |

use std::time::Duration;

use ::metrics::{counter, gauge, histogram};
use domain::RunOutcome;

/// Counts a thing for as long as it lives.
#[derive(Debug)]
pub struct Gauge(&'static str);

impl Gauge {
    /// One run more.
    #[must_use]
    pub fn run() -> Self {
        counter!("hansard_gateway_runs_started_total").increment(1);
        Self::up("hansard_gateway_runs")
    }

    /// One follower more.
    #[must_use]
    pub fn follower() -> Self {
        Self::up("hansard_gateway_run_followers")
    }

    fn up(name: &'static str) -> Self {
        gauge!(name).increment(1.0);
        Self(name)
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        gauge!(self.0).decrement(1.0);
    }
}

/// Parts were published.
pub fn parts_published(count: u64, took: Duration) {
    counter!("hansard_gateway_run_parts_total").increment(count);
    histogram!("hansard_gateway_run_publish_seconds").record(took.as_secs_f64());
}

/// A batch is sent again.
pub fn publish_retried() {
    counter!("hansard_gateway_run_publish_retries_total").increment(1);
}

/// The first part of a run was published.
pub fn first_part_published(took: Duration) {
    histogram!("hansard_gateway_run_first_part_seconds").record(took.as_secs_f64());
}

/// The outcome of a run, as labels name it.
#[must_use]
pub fn outcome_label(outcome: RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Completed => "completed",
        RunOutcome::Stopped => "stopped",
        RunOutcome::Failed => "failed",
        RunOutcome::Abandoned => "abandoned",
    }
}

/// The finishing commit of a run was made.
pub fn run_finished(outcome: &'static str) {
    counter!("hansard_gateway_runs_finished_total", "outcome" => outcome).increment(1);
}

/// A run that was made here is finished.
pub fn run_made(outcome: RunOutcome, took: Duration) {
    histogram!("hansard_gateway_run_seconds", "outcome" => outcome_label(outcome))
        .record(took.as_secs_f64());
}

/// A call was posted to its webhook.
pub fn webhook_called(outcome: &'static str) {
    counter!("hansard_gateway_run_webhooks_total", "outcome" => outcome).increment(1);
}

/// A sweep over the active runs is over.
pub fn swept(outcome: &'static str) {
    counter!("hansard_gateway_run_sweeps_total", "outcome" => outcome).increment(1);
}

/// A sweep found a run without a maker.
pub fn run_swept(found: &'static str) {
    counter!("hansard_gateway_run_swept_total", "found" => found).increment(1);
}

/// A summary was to be made.
pub fn summary(outcome: &'static str) {
    counter!("hansard_gateway_summaries_total", "outcome" => outcome).increment(1);
}
