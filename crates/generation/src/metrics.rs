//! Metrics of runs.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_gateway_runs` | 1 | active runs of this gateway |
//! | `hansard_gateway_runs_started_total` | runs | started on this gateway |
//! | `hansard_gateway_runs_finished_total{outcome}` | runs | finished by a commit of this gateway; `unrecordable`: not all events could be recorded |
//! | `hansard_gateway_run_seconds{outcome}` | s | from the start of a run to its finishing commit, both by this gateway |
//! | `hansard_gateway_run_parts_total` | parts | published |
//! | `hansard_gateway_run_publish_seconds` | s | from sending a batch of parts to the writer's answer, including retries |
//! | `hansard_gateway_run_publish_retries_total` | batches | sent again |
//! | `hansard_gateway_run_first_part_seconds` | s | from the start of a run to its first published part |
//! | `hansard_gateway_run_followers` | 1 | followers of runs |
//! | `hansard_gateway_run_webhooks_total{outcome}` | calls | tool calls posted to webhooks; outcome `ok`, `refused`, `unreachable` or `forbidden` |
//! | `hansard_gateway_run_sweeps_total{outcome}` | sweeps | over the active runs; outcome `ok` or `failed` |
//! | `hansard_gateway_run_swept_total{found}` | runs | ended (`abandoned`) or finished (`unfinished`) by a sweep |
//! | `hansard_gateway_summaries_total{outcome}` | summaries | attempted; outcome `made`, `outrun` (a newer summary exists), or the code of the failure |
//! | `hansard_gateway_titles_total{outcome}` | titles | attempted; outcome `made`, `outrun` (the conversation has got another), `no_place`, or the code of the failure |

use std::time::Duration;

use ::metrics::{counter, histogram};
use domain::RunOutcome;

use record_access::metrics::Gauge;

/// Counts a run until the gauge is dropped.
#[must_use]
pub fn count_run() -> Gauge {
    counter!("hansard_gateway_runs_started_total").increment(1);
    Gauge::up("hansard_gateway_runs")
}

/// Parts were published.
pub fn parts_published(count: u64, took: Duration) {
    counter!("hansard_gateway_run_parts_total").increment(count);
    histogram!("hansard_gateway_run_publish_seconds").record(took.as_secs_f64());
}

/// A batch of parts was sent again.
pub fn publish_retried() {
    counter!("hansard_gateway_run_publish_retries_total").increment(1);
}

/// The first part of a run was published.
pub fn first_part_published(took: Duration) {
    histogram!("hansard_gateway_run_first_part_seconds").record(took.as_secs_f64());
}

/// The finishing commit of a run was appended.
pub fn run_finished(outcome: &'static str) {
    counter!("hansard_gateway_runs_finished_total", "outcome" => outcome).increment(1);
}

/// A run of this gateway is finished.
pub fn run_completed(outcome: RunOutcome, took: Duration) {
    histogram!("hansard_gateway_run_seconds", "outcome" => outcome.as_str()).record(took.as_secs_f64());
}

/// A call was posted to its webhook.
pub fn webhook_called(outcome: &'static str) {
    counter!("hansard_gateway_run_webhooks_total", "outcome" => outcome).increment(1);
}

/// A sweep over the active runs ended.
pub fn swept(outcome: &'static str) {
    counter!("hansard_gateway_run_sweeps_total", "outcome" => outcome).increment(1);
}

/// A sweep ended or finished a run.
pub fn run_swept(found: &'static str) {
    counter!("hansard_gateway_run_swept_total", "found" => found).increment(1);
}

/// A summary was attempted.
pub fn summary(outcome: &'static str) {
    counter!("hansard_gateway_summaries_total", "outcome" => outcome).increment(1);
}

/// A title was attempted.
pub fn title(outcome: &'static str) {
    counter!("hansard_gateway_titles_total", "outcome" => outcome).increment(1);
}
