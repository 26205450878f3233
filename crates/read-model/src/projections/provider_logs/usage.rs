//! The tokens of metered calls, by day and by tenant, agent, API key and owner.

use std::collections::BTreeMap;

use domain::{Label, MeteredCall, OwnerDigest, TenantId, Timestamp};
use sqlx::postgres::{PgArguments, PgConnection};

use super::corrections::expire_corrections;
use crate::arguments::{arguments, execute, signed};
use crate::day::Day;
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};
use crate::queries::UsageScope;

/// Retention of the usage of tenants, agents and API keys, in days.
pub const USAGE_KEPT_DAYS: u32 = 400;
/// Retention of the usage of owners, in days.
pub const OWNER_USAGE_KEPT_DAYS: u32 = 31;
/// Maximum number of rows of each kind that [`expire_usage`] deletes at once.
pub const USAGE_EXPIRED_PER_CALL_MAX: u32 = 1_000;

/// A metered call in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredUsage {
    /// The tenant.
    pub tenant: TenantId,
    /// When the stream stored it: it counts for that day.
    pub stored_at: Timestamp,
    /// The call.
    pub call: MeteredCall,
}

/// The key of a sum. The order of the fields is the order of the updates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'c> {
    tenant: &'c TenantId,
    scope: UsageScope,
    day: Day,
    /// The name of the agent, the key or the owner; `""` for the tenant.
    name: &'c str,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    calls: u64,
    input_tokens: u64,
    output_tokens: u64,
}

/// Adds metered calls to the sums of their tenants, agents, keys and owners.
pub(super) async fn count_usage(connection: &mut PgConnection, calls: &[StoredUsage]) -> Result<(), ReadModelError> {
    if calls.is_empty() {
        return Ok(());
    }
    let sums = sums_of(calls);
    execute(connection, include_str!("count_usage.sql"), arguments(&sums)).await?;
    Ok(())
}

/// Deletes at most [`USAGE_EXPIRED_PER_CALL_MAX`] expired rows and corrections of each kind. Returns their number.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn expire_usage(model: &ReadModel, now: Timestamp) -> Result<u64, ReadModelError> {
    let mut deleted = 0_u64;
    for (scopes, days) in
        [(UsageScope::WITHOUT_OWNERS.as_slice(), USAGE_KEPT_DAYS), (&[UsageScope::Owner], OWNER_USAGE_KEPT_DAYS)]
    {
        let scopes: Vec<i16> = scopes.iter().map(|scope| scope.code()).collect();
        let before = Day::from_time(now).minus(days);
        let limit = i64::from(USAGE_EXPIRED_PER_CALL_MAX);
        let arguments = || arguments![scopes.as_slice(), before, limit];
        let rows = model.fetch(include_str!("expire_usage.sql"), arguments);
        deleted = deleted.saturating_add(u64::try_from(rows.await?.len()).unwrap_or(u64::MAX));
    }
    let before = Day::from_time(now).minus(USAGE_KEPT_DAYS);
    Ok(deleted.saturating_add(expire_corrections(model, before, USAGE_EXPIRED_PER_CALL_MAX).await?))
}

/// Deletes the usage of an owner. Returns the number of rows.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn delete_owner_usage(
    model: &ReadModel,
    tenant: &TenantId,
    owner: &OwnerDigest,
) -> Result<u64, ReadModelError> {
    let work = async |connection: &mut PgConnection| {
        let sql = "DELETE FROM hansard.model_usage WHERE tenant_id = $1 AND scope = $2 AND name = $3";
        let scope = UsageScope::Owner.code();
        let arguments = arguments![tenant.as_str(), scope, owner.as_str()];
        Ok(execute(connection, sql, arguments).await?)
    };
    model.transaction(Durability::Durable, work).await
}

/// The scopes and names that a call counts for.
fn subjects(call: &MeteredCall) -> impl Iterator<Item = (UsageScope, &str)> {
    let key = call.api_key.as_ref().map(Label::as_str);
    let owner = call.owner.as_ref().map(OwnerDigest::as_str);
    [
        Some((UsageScope::Tenant, "")),
        Some((UsageScope::Agent, call.agent.as_str())),
        key.map(|key| (UsageScope::Key, key)),
        owner.map(|owner| (UsageScope::Owner, owner)),
    ]
    .into_iter()
    .flatten()
}

fn sums_of(calls: &[StoredUsage]) -> BTreeMap<Key<'_>, Sums> {
    let mut all: BTreeMap<Key<'_>, Sums> = BTreeMap::new();
    for placed in calls {
        let (call, day) = (&placed.call, Day::from_time(placed.stored_at));
        for (scope, name) in subjects(call) {
            let sums = all.entry(Key { tenant: &placed.tenant, scope, day, name }).or_default();
            sums.calls += 1;
            sums.input_tokens = sums.input_tokens.saturating_add(call.input_tokens);
            sums.output_tokens = sums.output_tokens.saturating_add(call.output_tokens);
        }
    }
    all
}

fn arguments(sums: &BTreeMap<Key<'_>, Sums>) -> PgArguments {
    let numbers = |number: fn(&Sums) -> u64| -> Vec<i64> { sums.values().map(|sums| signed(number(sums))).collect() };
    let days: Vec<Day> = sums.keys().map(|key| key.day).collect();
    let scopes: Vec<i16> = sums.keys().map(|key| key.scope.code()).collect();
    let tenants: Vec<&str> = sums.keys().map(|key| key.tenant.as_str()).collect();
    let names: Vec<&str> = sums.keys().map(|key| key.name).collect();
    arguments![
        numbers(|sums| sums.calls),
        numbers(|sums| sums.input_tokens),
        numbers(|sums| sums.output_tokens),
        days,
        scopes,
        tenants,
        names,
    ]
}
