//! The metrics of the projector.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_projector_lost_sequences{partition}` | 1 | sequences that the rows contain and the record does not: the record lost its last commits |
//! | `hansard_projector_lag_sequences{partition}` | 1 | sequences between the checkpoint and the end of the record, including gaps |
//! | `hansard_projector_lag_seconds{partition}` | s | age of the oldest message that is read and not yet written |
//! | `hansard_projector_commit_seconds` | s | time from storing a commit in the record to its rows |
//! | `hansard_projector_batch_seconds` | s | duration of one transaction |
//! | `hansard_projector_batch_rows` | 1 | event rows of one transaction |
//! | `hansard_projector_batch_commits` | 1 | commits of one transaction |
//! | `hansard_projector_retries_total{cause}` | 1 | transactions that were rejected or lost |
//! | `hansard_projector_parked_conversations` | 1 | parked conversations, which need an operator |
//! | `hansard_projector_provider_logs_total{outcome}` | 1 | calls: `read`: logged calls that were written; `metered`: metered calls that were counted; `unreadable` or `refused` (by Postgres): skipped calls; `expired`: deleted calls |

use std::time::Duration;

use ::metrics::{counter, gauge, histogram};
use domain::Partition;

/// Sets the lag of a partition.
pub(crate) fn lag(partition: Partition, sequences: u64, age: Duration) {
    let label = partition.to_string();
    gauge!("hansard_projector_lag_sequences", "partition" => label.clone()).set(float(sequences));
    gauge!("hansard_projector_lag_seconds", "partition" => label).set(age.as_secs_f64());
}

/// Sets the number of sequences that the record lost.
pub(crate) fn lost(partition: Partition, sequences: u64) {
    let label = partition.to_string();
    gauge!("hansard_projector_lost_sequences", "partition" => label).set(float(sequences));
}

/// Records a written batch.
pub(crate) fn batch(took: Duration, rows: u64, commits: u64) {
    histogram!("hansard_projector_batch_seconds").record(took.as_secs_f64());
    histogram!("hansard_projector_batch_rows").record(float(rows));
    histogram!("hansard_projector_batch_commits").record(float(commits));
}

/// Records the time from storing a commit to its rows.
pub(crate) fn projected(after: Duration) {
    histogram!("hansard_projector_commit_seconds").record(after.as_secs_f64());
}

/// Counts a failed transaction.
pub(crate) fn retried(cause: &'static str) {
    counter!("hansard_projector_retries_total", "cause" => cause).increment(1);
}

/// Sets the number of parked conversations.
pub(crate) fn parked(conversations: u64) {
    gauge!("hansard_projector_parked_conversations").set(float(conversations));
}

/// Counts calls by outcome.
pub(crate) fn provider_logs(outcome: &'static str, calls: u64) {
    counter!("hansard_projector_provider_logs_total", "outcome" => outcome).increment(calls);
}

#[expect(
    clippy::cast_precision_loss,
    clippy::as_conversions,
    reason = "gauges and histograms count in floats"
)]
fn float(number: u64) -> f64 {
    number as f64
}
