//! The metrics of the projector.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_projector_lag_sequences{partition,projection}` | 1 | sequences between the checkpoint and the end of the record, including gaps |
//! | `hansard_projector_lag_seconds{partition,projection}` | s | age of the oldest message that is read and not yet written |
//! | `hansard_projector_commit_seconds{projection}` | s | time from storing a commit in the record to its rows |
//! | `hansard_projector_batch_seconds{projection}` | s | duration of one transaction |
//! | `hansard_projector_batch_rows{projection}` | 1 | event rows of one transaction |
//! | `hansard_projector_batch_commits{projection}` | 1 | commits of one transaction |
//! | `hansard_projector_retries_total{cause,projection}` | 1 | transactions that were rejected or lost |
//! | `hansard_projector_parked_conversations` | 1 | parked conversations, which need an operator |
//! | `hansard_projector_provider_logs_total{outcome}` | 1 | calls: `read`: logged calls that were written; `metered`: metered calls that were counted; `corrected`: corrections of usage that were applied; `unreadable` or `refused` (by Postgres): skipped calls; `expired`: deleted calls |

use std::time::Duration;

use ::metrics::{counter, gauge, histogram};
use domain::Partition;

use crate::projection_kind::ProjectionKind;

/// Sets the lag of a partition.
pub(crate) fn lag(of: (ProjectionKind, Partition), sequences: u64, age: Duration) {
    let labels = labels(of);
    gauge!("hansard_projector_lag_sequences", &labels).set(float(sequences));
    gauge!("hansard_projector_lag_seconds", &labels).set(age.as_secs_f64());
}

fn labels((kind, partition): (ProjectionKind, Partition)) -> [(&'static str, String); 2] {
    [("partition", partition.to_string()), ("projection", kind.as_str().to_owned())]
}

/// Records a written batch.
pub(crate) fn batch(kind: ProjectionKind, took: Duration, rows: u64, commits: u64) {
    let labels = [("projection", kind.as_str())];
    histogram!("hansard_projector_batch_seconds", &labels).record(took.as_secs_f64());
    histogram!("hansard_projector_batch_rows", &labels).record(float(rows));
    histogram!("hansard_projector_batch_commits", &labels).record(float(commits));
}

/// Records the time from storing a commit to its rows.
pub(crate) fn projected(kind: ProjectionKind, after: Duration) {
    let labels = [("projection", kind.as_str())];
    histogram!("hansard_projector_commit_seconds", &labels).record(after.as_secs_f64());
}

/// Counts a failed transaction.
pub(crate) fn retried(kind: ProjectionKind, cause: &'static str) {
    let labels = [("cause", cause), ("projection", kind.as_str())];
    counter!("hansard_projector_retries_total", &labels).increment(1);
}

/// Sets the number of parked conversations.
pub(crate) fn parked(conversations: u64) {
    gauge!("hansard_projector_parked_conversations").set(float(conversations));
}

/// Counts calls by outcome.
pub(crate) fn provider_logs(outcome: &'static str, calls: u64) {
    counter!("hansard_projector_provider_logs_total", "outcome" => outcome).increment(calls);
}

#[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "gauges and histograms count in floats")]
fn float(number: u64) -> f64 {
    number as f64
}
