//! Corrections of usage: an entry of the audit log, then a message in the stream of metered calls.

use domain::violation::check_text;
use domain::{CorrectedCounts, Label, Timestamp, UsageCorrection, Violation, ViolationReason};
use read_model::Day;
use read_model::projections::provider_logs::USAGE_KEPT_DAYS;
use registry::Scope;
use wire::usage_correction::correction_from_proto;

use super::tenants::require_unbound;
use super::{Problem, Request, Writer, administrator, not_found, proto};
use crate::audit::EntryKey;
use crate::problem;
use crate::request::digest;

/// Maximum length of the reason of a correction, in bytes.
const REASON_BYTES_MAX: usize = 512;

/// Returns `false` if the record has no stream for usage.
pub(super) async fn correct(writer: &Writer, request: Request<proto::CorrectUsageRequest>) -> Result<bool, Problem> {
    let (by, request) = administrator(writer, request).await?;
    let request_digest = digest(&request);
    let correction = correction(request.correction, writer.now())?;
    check_reason(&request.reason)?;
    let access = writer.registry.authorize(&by.principal, Scope::Operate, &correction.agent).await;
    let access = access.map_err(|_| not_found("agent", "correction.agent_id"))?;
    if let CorrectedCounts::ModelCalls { .. } = correction.counts {
        // Quotas use these counts, and a tenant does not change its own quotas.
        require_unbound(&by.principal)?;
    }
    check_key(writer, &correction)?;
    let key = EntryKey { id: correction.id, field: "correction.correction_id", request_digest };
    let what = format!("{}: {}", description(&correction), request.reason);
    by.record_once(writer, &access, what, key).await?;
    let stored = writer.record.publish_correction(access.tenant.tenant(), &correction).await;
    stored.map_err(problem::from_record)
}

/// A correction of a day whose usage is kept.
fn correction(
    given: Option<wire::proto::run::v1::UsageCorrection>,
    now: Timestamp,
) -> Result<UsageCorrection, Violation> {
    let within = |violation: Violation| violation.within("correction");
    let given = given.ok_or_else(|| within(Violation::new(ViolationReason::Missing, "is required")))?;
    let correction = correction_from_proto(given).map_err(within)?;
    check_day(Day::from_time(correction.day), Day::from_time(now))
        .map_err(|violation| within(violation.within("day")))?;
    Ok(correction)
}

fn check_day(day: Day, today: Day) -> Result<(), Violation> {
    let first = today.minus(USAGE_KEPT_DAYS);
    if (first..=today).contains(&day) {
        return Ok(());
    }
    let rule = format!("is {day}: give a day from {first} to {today}, in UTC");
    Err(Violation::new(ViolationReason::OutOfRange, rule))
}

fn check_reason(reason: &str) -> Result<(), Violation> {
    let within = |violation: Violation| violation.within("reason");
    if reason.trim().is_empty() {
        return Err(within(Violation::new(ViolationReason::Missing, "is required")));
    }
    check_text(reason, REASON_BYTES_MAX).map_err(within)
}

/// Checks that the named key is one of the agent, also a revoked one.
fn check_key(writer: &Writer, correction: &UsageCorrection) -> Result<(), Problem> {
    let CorrectedCounts::ModelCalls { api_key: Some(key), .. } = &correction.counts else {
        return Ok(());
    };
    match writer.registry.api_key(key.as_str()) {
        Some(entry) if entry.agent_id == correction.agent.as_str() => Ok(()),
        _ => Err(not_found("API key of the agent", "correction.model_calls.api_key_id")),
    }
}

/// What is corrected, for the audit log.
fn description(correction: &UsageCorrection) -> String {
    let UsageCorrection { id, agent, tokens, .. } = correction;
    let counts = match &correction.counts {
        CorrectedCounts::ModelCalls { api_key, owner } => {
            let key = api_key.as_ref().map(|key| format!(" with the API key {key}")).unwrap_or_default();
            let owner = if owner.is_some() { " of one owner" } else { "" };
            format!("model calls{key}{owner}")
        }
        CorrectedCounts::Messages { model } => {
            format!("messages of the model {}", model.as_ref().map_or("(none)", Label::as_str))
        }
    };
    format!(
        "agent {agent}: usage of {}, {counts}, input {:+}, output {:+}, cached {:+}, reasoning {:+} tokens, correction {id}",
        Day::from_time(correction.day),
        tokens.input,
        tokens.output,
        tokens.cached,
        tokens.reasoning,
    )
}

#[cfg(test)]
mod tests {
    use domain::{AgentId, CommitId, TokenChanges};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_day_is_corrected_while_its_usage_is_kept() {
        let today = Day::parse("2026-11-29").unwrap();
        let check = |day: Day, expected: bool| assert_eq!(check_day(day, today).is_ok(), expected, "{day}");
        check(today, true);
        check(Day::parse("2026-11-30").unwrap(), false);
        check(today.minus(USAGE_KEPT_DAYS), true);
        check(today.minus(USAGE_KEPT_DAYS + 1), false);
    }

    #[test]
    fn a_reason_is_required_and_bounded() {
        let check = |reason: &str, expected: Option<ViolationReason>| {
            assert_eq!(check_reason(reason).err().map(|violation| violation.reason), expected);
        };
        check("", Some(ViolationReason::Missing));
        check(" ", Some(ViolationReason::Missing));
        check(&"r".repeat(REASON_BYTES_MAX), None);
        check(&"r".repeat(REASON_BYTES_MAX + 1), Some(ViolationReason::TooLong));
    }

    #[test]
    fn an_entry_says_what_is_corrected() {
        let check = |counts: CorrectedCounts, expected: &str| {
            let correction = UsageCorrection {
                id: CommitId(Uuid::nil()),
                agent: AgentId::parse("support").unwrap(),
                day: Timestamp(0),
                counts,
                tokens: TokenChanges { input: i64::MIN, output: 1, ..TokenChanges::default() },
            };
            let expected = format!(
                "agent support: usage of 1970-01-01, {expected}, input {}, output +1, cached +0, reasoning +0 tokens, correction {}",
                i64::MIN,
                Uuid::nil()
            );
            assert_eq!(description(&correction), expected);
        };
        check(CorrectedCounts::ModelCalls { api_key: None, owner: None }, "model calls");
        let api_key = Label::parse("k-1").ok();
        check(CorrectedCounts::ModelCalls { api_key, owner: None }, "model calls with the API key k-1");
        check(CorrectedCounts::Messages { model: None }, "messages of the model (none)");
        check(CorrectedCounts::Messages { model: Label::parse("m").ok() }, "messages of the model m");
    }
}
