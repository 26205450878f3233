//! What the gateway tells of itself, beside what the gRPC server tells of every call.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_gateway_context_seconds{source}` | s | from the request to the assembled context; source `rows`, or `tail` where the rows were behind |
//! | `hansard_gateway_history_seconds{rpc,outcome}` | s | from the request for a history by key (`load`, `record`) to its answer; outcome `ok`, or the warning's code |
//! | `hansard_gateway_history_keys_refused_total{reason}` | candidates | that were no keys |
//! | `hansard_gateway_history_truncated_total` | histories | that were loaded without older messages, for their bound |
//! | `hansard_gateway_history_retries_total{cause}` | tries | to record that were made again; cause as the warning's code |
//! | `hansard_gateway_tail_commits` | commits | read straight from the record, for each read that found the rows behind |
//! | `hansard_gateway_watchers` | 1 | conversations being watched |
//! | `hansard_gateway_watch_rereads_total` | 1 | times that a watcher read the record again, for it may have missed something |

use std::time::Duration;

use ::metrics::{counter, gauge, histogram};

/// A context was assembled.
pub fn context_assembled(took: Duration, came: Source) {
    let source = match came {
        Source::Rows => "rows",
        Source::Tail => "tail",
    };
    histogram!("hansard_gateway_context_seconds", "source" => source).record(took.as_secs_f64());
}

/// Where a context came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The rows alone.
    Rows,
    /// The rows, which were behind, and the record.
    Tail,
}

/// A call of the history service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryCall {
    /// A history was loaded.
    Load,
    /// What was new to one was recorded.
    Record,
}

/// A call of the history service was answered; `warning` names what went wrong.
pub fn history_answered(call: HistoryCall, warning: Option<&'static str>, took: Duration) {
    let rpc = match call {
        HistoryCall::Load => "load",
        HistoryCall::Record => "record",
    };
    let outcome = warning.unwrap_or("ok");
    histogram!("hansard_gateway_history_seconds", "rpc" => rpc, "outcome" => outcome)
        .record(took.as_secs_f64());
}

/// A candidate was no key.
pub fn history_key_refused(reason: &'static str) {
    counter!("hansard_gateway_history_keys_refused_total", "reason" => reason).increment(1);
}

/// Older messages were left out of a loaded history.
pub fn history_truncated() {
    counter!("hansard_gateway_history_truncated_total").increment(1);
}

/// Recording is tried again.
pub fn history_retried(cause: &'static str) {
    counter!("hansard_gateway_history_retries_total", "cause" => cause).increment(1);
}

/// A watcher reads the record again.
pub fn watch_reread() {
    counter!("hansard_gateway_watch_rereads_total").increment(1);
}

/// Counts a watcher for as long as it lives.
#[derive(Debug)]
pub struct WatcherGauge(());

impl WatcherGauge {
    /// One watcher more.
    #[must_use]
    pub fn up() -> Self {
        gauge!("hansard_gateway_watchers").increment(1.0);
        Self(())
    }
}

impl Drop for WatcherGauge {
    fn drop(&mut self) {
        gauge!("hansard_gateway_watchers").decrement(1.0);
    }
}
