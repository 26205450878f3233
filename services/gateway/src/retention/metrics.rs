//! Metrics of retention.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_gateway_retention_rounds_total{outcome}` | rounds | outcome `ok`; `cut`: not all agents were processed completely; postponed: `registry_stale`, `rows_behind`, `refused`, `unavailable` |
//! | `hansard_gateway_retention_round_seconds` | s | duration of a round |
//! | `hansard_gateway_retention_changes_total{rule,outcome}` | conversations | rule `idle`, `empty`, `per_session`, `per_user`, `per_channel` (erased), `messages` (archived), `documents` (deleted); outcome `changed`, `settled` (already changed, or has new events), `failed`, `refused` |
//! | `hansard_gateway_retention_left_over` | agents | not processed completely by the last round |

use std::time::Duration;

use ::metrics::{counter, gauge, histogram};

use super::change::Outcome;
use super::rules::RuleKind;
use super::{RoundError, Tally};

/// A change ended.
pub(super) fn change_ended(kind: RuleKind, outcome: Outcome) {
    let outcome = match outcome {
        Outcome::Changed => "changed",
        Outcome::Settled => "settled",
        Outcome::Failed => "failed",
        Outcome::Refused => "refused",
    };
    counter!("hansard_gateway_retention_changes_total", "rule" => kind.as_str(), "outcome" => outcome).increment(1);
}

/// A round ended.
pub(super) fn round_ended(done: &Result<Tally, RoundError>, took: Duration) {
    let outcome = match done {
        Ok(tally) if tally.left_over == 0 => "ok",
        Ok(_) => "cut",
        Err(RoundError::RegistryStale) => "registry_stale",
        Err(RoundError::RowsBehind) => "rows_behind",
        Err(RoundError::Refused) => "refused",
        Err(RoundError::Record(_) | RoundError::ReadModel(_)) => "unavailable",
    };
    counter!("hansard_gateway_retention_rounds_total", "outcome" => outcome).increment(1);
    histogram!("hansard_gateway_retention_round_seconds").record(took.as_secs_f64());
    if let Ok(tally) = done {
        let left_over = u32::try_from(tally.left_over).unwrap_or(u32::MAX);
        gauge!("hansard_gateway_retention_left_over").set(f64::from(left_over));
    }
}
