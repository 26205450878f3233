//! Corrections of usage. Each is stored once by its id. Those of model calls change the sums; those of messages are added when usage
//! is read.

use domain::{AgentId, CorrectedCounts, Label, OwnerDigest, TenantId, UsageCorrection};
use sqlx::postgres::{PgArguments, PgConnection};

use crate::arguments::{arguments, execute};
use crate::day::Day;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::queries::UsageScope;

/// The code of model calls in rows.
const MODEL_CALLS: i16 = 1;
/// The code of messages in rows.
const MESSAGES: i16 = 2;

/// A correction in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCorrection {
    /// The tenant.
    pub tenant: TenantId,
    /// The correction.
    pub correction: UsageCorrection,
}

/// Applies the corrections that no earlier transaction has applied.
pub(super) async fn correct_usage(
    connection: &mut PgConnection,
    corrections: &[StoredCorrection],
) -> Result<(), ReadModelError> {
    for stored in corrections {
        execute(connection, include_str!("correct_usage.sql"), arguments(stored)).await?;
    }
    Ok(())
}

/// Deletes at most `limit` corrections of usage before a day. Returns their number.
pub(super) async fn expire_corrections(model: &ReadModel, before: Day, limit: u32) -> Result<u64, ReadModelError> {
    let arguments = || arguments![before, i64::from(limit)];
    let deleted = model.fetch(include_str!("expire_corrections.sql"), arguments).await?;
    Ok(u64::try_from(deleted.len()).unwrap_or(u64::MAX))
}

/// The code of the counts, the model of messages, and the corrected sums of model calls.
fn corrected<'c>(counts: &'c CorrectedCounts, agent: &'c AgentId) -> (i16, &'c str, Vec<(UsageScope, &'c str)>) {
    match counts {
        CorrectedCounts::ModelCalls { api_key, owner } => {
            let key = api_key.as_ref().map(|key| (UsageScope::Key, key.as_str()));
            let owner = owner.as_ref().map(OwnerDigest::as_str).map(|owner| (UsageScope::Owner, owner));
            let sums = [(UsageScope::Tenant, ""), (UsageScope::Agent, agent.as_str())];
            (MODEL_CALLS, "", sums.into_iter().chain(key).chain(owner).collect())
        }
        CorrectedCounts::Messages { model } => (MESSAGES, model.as_ref().map_or("", Label::as_str), Vec::new()),
    }
}

fn arguments(stored: &StoredCorrection) -> PgArguments {
    let StoredCorrection { tenant, correction } = stored;
    let (kind, model, sums) = corrected(&correction.counts, &correction.agent);
    let scopes: Vec<i16> = sums.iter().map(|(scope, _)| scope.code()).collect();
    let names: Vec<&str> = sums.iter().map(|(_, name)| *name).collect();
    arguments![
        correction.tokens.input,
        correction.tokens.output,
        correction.tokens.cached,
        correction.tokens.reasoning,
        Day::from_time(correction.day),
        kind,
        correction.id.0,
        tenant.as_str(),
        correction.agent.as_str(),
        model,
        scopes,
        names,
    ]
}
