//! Metrics of the provider log.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_gateway_provider_logs_total{outcome}` | calls | to log; outcome `kept`; `off`: the settings changed in the meantime; dropped: `no_room` in the queue, writer `unreachable`, `refused` by the writer (usually because the conversation is erased) |

use ::metrics::counter;

/// A call was logged or dropped.
pub(super) fn logged(outcome: &'static str) {
    counter!("hansard_gateway_provider_logs_total", "outcome" => outcome).increment(1);
}
