//! What the writer tells of itself.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_writer_append_seconds{outcome}` | s | from the turn's wait to the answer; outcome `committed`, `replayed`, `unchanged` or the error's reason |
//! | `hansard_writer_parts_seconds{outcome}` | s | from a batch of parts to its answer; outcome `published` or the error's reason |
//! | `hansard_writer_provider_logs_total{outcome}` | calls | of model servers that were to be logged; outcome `kept`, `off` or the error's reason |
//! | `hansard_writer_metered_calls_total{outcome}` | calls | of models whose tokens were to be counted; outcome `kept`, `no_stream` or the error's reason |
//! | `hansard_writer_quota_exceeded_total{quota,scope}` | commits | refused by a quota; quota `conversations`, `stored_bytes` or `appended_bytes_per_minute`, scope `tenant`, `agent` or `owner` |
//! | `hansard_writer_queue_seconds` | s | waiting for the conversation's turn |
//! | `hansard_writer_pending_erasures` | 1 | erasures in progress in the whole record: their tombstones are there, and commits before them |
//! | `hansard_writer_pending_erasures_oldest_seconds` | s | since when the oldest of them that was read is in progress |
//! | `hansard_writer_commits_removed_total` | commits | that this writer overwrote behind tombstones |
//! | `hansard_writer_rebases_total` | 1 | decisions made anew because another writer was faster |

use std::time::Duration;

use ::metrics::{counter, gauge, histogram};
use ::quotas::Exceeded;
use domain::Sequence;
use wire::proto::write::v1::CommitResult;
use wire::status::Problem;

/// A command was answered.
pub fn appended(took: Duration, outcome: &Result<CommitResult, Problem>) {
    let outcome = match outcome {
        Ok(result) if result.replayed => "replayed",
        Ok(result) if result.commit_id.is_empty() => "unchanged",
        Ok(_) => "committed",
        Err(problem) => problem.reason().as_str(),
    };
    histogram!("hansard_writer_append_seconds", "outcome" => outcome).record(took.as_secs_f64());
}

/// A batch of a run's parts was answered.
pub fn parts_appended(took: Duration, outcome: &Result<Sequence, Problem>) {
    let outcome = match outcome {
        Ok(_) => "published",
        Err(problem) => problem.reason().as_str(),
    };
    histogram!("hansard_writer_parts_seconds", "outcome" => outcome).record(took.as_secs_f64());
}

/// A call of a model server was to be logged.
pub fn call_logged(outcome: &Result<bool, Problem>) {
    let outcome = match outcome {
        Ok(true) => "kept",
        Ok(false) => "off",
        Err(problem) => problem.reason().as_str(),
    };
    counter!("hansard_writer_provider_logs_total", "outcome" => outcome).increment(1);
}

/// The tokens of a call of a model were to be counted.
pub fn call_metered(outcome: &Result<bool, Problem>) {
    let outcome = match outcome {
        Ok(true) => "kept",
        Ok(false) => "no_stream",
        Err(problem) => problem.reason().as_str(),
    };
    counter!("hansard_writer_metered_calls_total", "outcome" => outcome).increment(1);
}

/// A quota refused a commit.
pub fn quota_exceeded(exceeded: &Exceeded) {
    let (quota, scope) = (exceeded.quota.as_str(), exceeded.scope.as_str());
    counter!("hansard_writer_quota_exceeded_total", "quota" => quota, "scope" => scope)
        .increment(1);
}

/// A command got its turn.
pub fn queued(waited: Duration) {
    histogram!("hansard_writer_queue_seconds").record(waited.as_secs_f64());
}

/// A command is decided anew.
pub fn rebased() {
    counter!("hansard_writer_rebases_total").increment(1);
}

/// The erasures in progress, and for how long the oldest of them.
pub fn pending_erasures(count: u64, oldest: Duration) {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    gauge!("hansard_writer_pending_erasures").set(f64::from(count));
    gauge!("hansard_writer_pending_erasures_oldest_seconds").set(oldest.as_secs_f64());
}

/// Commits behind a tombstone are overwritten.
pub fn removed(commits: u64) {
    counter!("hansard_writer_commits_removed_total").increment(commits);
}
