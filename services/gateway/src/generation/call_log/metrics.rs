//! What the gateway tells of the log of model servers' calls.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_gateway_provider_logs_total{outcome}` | calls | that were to be logged: `kept`; `off`, where the settings changed meanwhile; dropped, since there was `no_room`, the writer was `unreachable`, or it `refused` (mostly: the conversation is erased) |

use ::metrics::counter;

/// A call was to be logged.
pub(super) fn told(outcome: &'static str) {
    counter!("hansard_gateway_provider_logs_total", "outcome" => outcome).increment(1);
}
