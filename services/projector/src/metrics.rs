//! What the projector tells of itself.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_projector_lost_sequences{partition}` | 1 | sequences that the rows hold and the record does not: it lost its end |
//! | `hansard_projector_lag_sequences{partition}` | 1 | sequences between the rows and the record's last, holes among them |
//! | `hansard_projector_lag_seconds{partition}` | s | age of the oldest message that was read and not written yet |
//! | `hansard_projector_commit_seconds` | s | from a commit's storing in the record to its rows |
//! | `hansard_projector_batch_seconds` | s | one transaction |
//! | `hansard_projector_batch_rows` | 1 | rows of events in one transaction |
//! | `hansard_projector_batch_commits` | 1 | commits in one transaction |
//! | `hansard_projector_retries_total{cause}` | 1 | transactions that were refused or lost |
//! | `hansard_projector_parked_conversations` | 1 | conversations that wait for an operator |
//! | `hansard_projector_provider_logs_total{outcome}` | 1 | calls: `read` of the log, and `metered`; left out since they are `unreadable`, or `refused` by Postgres; `expired`, which is removed since its time is over |

use std::time::Duration;

use ::metrics::{counter, gauge, histogram};
use domain::Partition;

/// How far a partition's rows are behind.
#[expect(
    clippy::cast_precision_loss,
    clippy::as_conversions,
    reason = "a gauge is a float"
)]
pub(crate) fn lag(partition: Partition, sequences: u64, age: Duration) {
    let label = partition.to_string();
    gauge!("hansard_projector_lag_sequences", "partition" => label.clone()).set(sequences as f64);
    gauge!("hansard_projector_lag_seconds", "partition" => label).set(age.as_secs_f64());
}

/// So many sequences that the rows hold are not in the record.
#[expect(
    clippy::cast_precision_loss,
    clippy::as_conversions,
    reason = "a gauge is a float"
)]
pub(crate) fn lost(partition: Partition, sequences: u64) {
    let label = partition.to_string();
    gauge!("hansard_projector_lost_sequences", "partition" => label).set(sequences as f64);
}

/// A batch was written.
#[expect(
    clippy::cast_precision_loss,
    clippy::as_conversions,
    reason = "a histogram counts in floats"
)]
pub(crate) fn batch(took: Duration, rows: usize, commits: usize) {
    histogram!("hansard_projector_batch_seconds").record(took.as_secs_f64());
    histogram!("hansard_projector_batch_rows").record(rows as f64);
    histogram!("hansard_projector_batch_commits").record(commits as f64);
}

/// A commit's rows are there, this long after it was stored.
pub(crate) fn projected(after: Duration) {
    histogram!("hansard_projector_commit_seconds").record(after.as_secs_f64());
}

/// A transaction came to nothing.
pub(crate) fn retried(cause: &'static str) {
    counter!("hansard_projector_retries_total", "cause" => cause).increment(1);
}

/// So many conversations are parked.
#[expect(
    clippy::cast_precision_loss,
    clippy::as_conversions,
    reason = "a gauge is a float"
)]
pub(crate) fn parked(conversations: u64) {
    gauge!("hansard_projector_parked_conversations").set(conversations as f64);
}

/// So many logged calls came to this.
pub(crate) fn provider_logs(outcome: &'static str, calls: u64) {
    counter!("hansard_projector_provider_logs_total", "outcome" => outcome).increment(calls);
}
