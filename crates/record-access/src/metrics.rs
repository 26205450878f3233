//! Metrics of contexts, histories and watchers. The gRPC server has metrics of every call.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_gateway_context_seconds{source}` | s | from the request to the assembled context; source `rows`, or `tail` if the rows were behind |
//! | `hansard_gateway_history_seconds{rpc,outcome}` | s | from a history request (`load`, `record`) to its answer; outcome `ok`, or the code of the warning |
//! | `hansard_gateway_history_keys_refused_total{reason}` | candidates | that are not valid keys |
//! | `hansard_gateway_history_truncated_total` | histories | loaded without older messages, because of `messages_max` |
//! | `hansard_gateway_history_retries_total{cause}` | attempts | to record, repeated; cause is the code of the warning |
//! | `hansard_gateway_tail_commits` | commits | read from the record, per read for which the rows were behind |
//! | `hansard_gateway_watchers` | 1 | watchers of conversations |
//! | `hansard_gateway_audited_reads_total{outcome}` | reads | by service tokens, for audit logs: `recorded`, `refused` (the queue was full, and the read was not answered), `dropped` (their tenant was removed), `lost` (the writer did not answer until the end of a shutdown) |
//! | `hansard_gateway_watch_rereads_total` | 1 | reads of the record by watchers after a possible loss |

use std::time::Duration;

use ::metrics::{counter, gauge, histogram};

/// A context was assembled from `rows`, or with the `tail` of the record.
pub fn context_assembled(took: Duration, source: &'static str) {
    histogram!("hansard_gateway_context_seconds", "source" => source).record(took.as_secs_f64());
}

/// A call of the history service, `load` or `record`, was answered; `warning` is the code of its warning.
pub fn history_answered(rpc: &'static str, warning: Option<&'static str>, took: Duration) {
    let outcome = warning.unwrap_or("ok");
    histogram!("hansard_gateway_history_seconds", "rpc" => rpc, "outcome" => outcome).record(took.as_secs_f64());
}

/// A candidate was not a valid key.
pub fn history_key_refused(reason: &'static str) {
    counter!("hansard_gateway_history_keys_refused_total", "reason" => reason).increment(1);
}

/// Older messages were left out of a loaded history.
pub fn history_truncated() {
    counter!("hansard_gateway_history_truncated_total").increment(1);
}

/// An attempt to record was repeated.
pub fn history_retried(cause: &'static str) {
    counter!("hansard_gateway_history_retries_total", "cause" => cause).increment(1);
}

/// Reads by service tokens were `recorded`, `refused`, `dropped` or `lost`.
pub fn audited_reads(outcome: &'static str, count: usize) {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    counter!("hansard_gateway_audited_reads_total", "outcome" => outcome).increment(count);
}

/// A watcher read the record again.
pub fn watch_reread() {
    counter!("hansard_gateway_watch_rereads_total").increment(1);
}

/// A gauge that counts one until it is dropped.
#[derive(Debug)]
pub struct Gauge(&'static str);

impl Gauge {
    /// Counts one.
    #[must_use]
    pub fn up(name: &'static str) -> Self {
        gauge!(name).increment(1.0);
        Self(name)
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        gauge!(self.0).decrement(1.0);
    }
}
