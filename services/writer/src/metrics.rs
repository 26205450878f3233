//! The metrics of the writer.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_writer_append_seconds{outcome}` | s | duration of a command, with its wait in the queue; outcome `committed`, `replayed`, `unchanged` or the reason of the error |
//! | `hansard_writer_parts_seconds{outcome}` | s | duration of publishing a batch of run parts; outcome `published` or the reason of the error |
//! | `hansard_writer_provider_logs_total{outcome}` | calls | calls of model servers sent to the provider log; outcome `kept`, `off` (the log is disabled) or the reason of the error |
//! | `hansard_writer_metered_calls_total{outcome}` | calls | calls of models sent for metering; outcome `kept`, `no_stream` (the record has no stream for them) or the reason of the error |
//! | `hansard_writer_quota_exceeded_total{quota,scope}` | commits | commits rejected by a quota; quota `conversations`, `stored_bytes` or `appended_bytes_per_minute`, scope `tenant`, `agent` or `owner` |
//! | `hansard_writer_queue_seconds` | s | wait of a command in the queue of its conversation |
//! | `hansard_writer_pending_erasures` | erasures | erasures in progress in the whole record: the removal is not complete |
//! | `hansard_writer_pending_erasures_oldest_seconds` | s | age of the oldest pending erasure that was read |
//! | `hansard_writer_ending_keys{kind,state}` | keys | keys that expire within 14 days (state `ending`) or have expired (`ended`) and were neither revoked, retired nor replaced, in the whole record; kind `api_key`, `service_token` or `signing_key` |
//! | `hansard_writer_commits_removed_total` | commits | commits of erased conversations that this writer overwrote |
//! | `hansard_writer_rebases_total` | decisions | commands decided again because another writer was faster |
//! | `hansard_writer_woken_total` | conversations | hibernated conversations to which this writer appended |

use std::time::Duration;

use ::metrics::{counter, gauge, histogram};
use ::quotas::Exceeded;
use domain::{Sequence, Timestamp};
use registry::{EndingKey, KeyKind};
use wire::proto::write::v1::CommitResult;
use wire::status::Problem;

/// Records the response to a command.
pub(crate) fn command_answered(took: Duration, outcome: &Result<CommitResult, Problem>) {
    let outcome = label(outcome, |result| match result {
        result if result.replayed => "replayed",
        result if result.commit_id.is_empty() => "unchanged",
        _ => "committed",
    });
    histogram!("hansard_writer_append_seconds", "outcome" => outcome).record(took.as_secs_f64());
}

/// Records the response to a batch of run parts.
pub(crate) fn parts_appended(took: Duration, outcome: &Result<Sequence, Problem>) {
    let outcome = label(outcome, |_| "published");
    histogram!("hansard_writer_parts_seconds", "outcome" => outcome).record(took.as_secs_f64());
}

/// Records a call of a model server for the provider log.
pub(crate) fn call_logged(outcome: &Result<bool, Problem>) {
    let outcome = label(outcome, |is_kept| if *is_kept { "kept" } else { "off" });
    counter!("hansard_writer_provider_logs_total", "outcome" => outcome).increment(1);
}

/// Records a call of a model for metering.
pub(crate) fn call_metered(outcome: &Result<bool, Problem>) {
    let outcome = label(outcome, |is_kept| if *is_kept { "kept" } else { "no_stream" });
    counter!("hansard_writer_metered_calls_total", "outcome" => outcome).increment(1);
}

/// Records an append to a hibernated conversation.
pub(crate) fn woken() {
    counter!("hansard_writer_woken_total").increment(1);
}

pub(crate) fn quota_exceeded(exceeded: &Exceeded) {
    let (quota, scope) = (exceeded.quota.as_str(), exceeded.scope.as_str());
    counter!("hansard_writer_quota_exceeded_total", "quota" => quota, "scope" => scope).increment(1);
}

pub(crate) fn queued(waited: Duration) {
    histogram!("hansard_writer_queue_seconds").record(waited.as_secs_f64());
}

/// Counts a new decision on a command.
pub(crate) fn rebased() {
    counter!("hansard_writer_rebases_total").increment(1);
}

/// Sets the number of pending erasures, and the age of the oldest.
pub(crate) fn pending_erasures(count: u64, oldest: Duration) {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    gauge!("hansard_writer_pending_erasures").set(f64::from(count));
    gauge!("hansard_writer_pending_erasures_oldest_seconds").set(oldest.as_secs_f64());
}

/// Sets the numbers of keys that end soon and that have ended.
pub(crate) fn ending_keys(keys: &[EndingKey], now: Timestamp) {
    for kind in KeyKind::ALL {
        let of_kind = keys.iter().filter(|key| key.kind == kind);
        let (ended, ending): (Vec<_>, Vec<_>) = of_kind.partition(|key| key.has_ended(now));
        for (state, keys) in [("ended", ended), ("ending", ending)] {
            let count = u32::try_from(keys.len()).unwrap_or(u32::MAX);
            let labels = [("kind", kind.as_str()), ("state", state)];
            gauge!("hansard_writer_ending_keys", &labels).set(f64::from(count));
        }
    }
}

/// Counts overwritten commits of an erased conversation.
pub(crate) fn removed(commits: u64) {
    counter!("hansard_writer_commits_removed_total").increment(commits);
}

/// The label of an outcome; the reason of an error.
fn label<T>(outcome: &Result<T, Problem>, of: impl Fn(&T) -> &'static str) -> &'static str {
    outcome.as_ref().map_or_else(|problem| problem.reason().as_str(), of)
}
