//! The tokens of metered calls, by day and by whom they count against.

use std::collections::BTreeMap;

use domain::{Label, MeteredCall, OwnerDigest, TenantId, Timestamp};
use sqlx::postgres::{PgArguments, PgConnection};

use crate::day::Day;
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};
use crate::queries::{UsageScope, bind, signed};

/// How many days the usage of tenants, agents and API keys is kept.
pub const USAGE_KEPT_DAYS: u32 = 400;
/// How many days the usage of owners is kept.
pub const OWNER_USAGE_KEPT_DAYS: u32 = 31;
/// Most rows that one call of [`expire_usage`] removes, of each kind.
pub const USAGE_EXPIRED_PER_CALL_MAX: u32 = 1_000;

/// A metered call, and where and when it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedUsage {
    /// Its tenant.
    pub tenant: TenantId,
    /// When the stream stored it: it counts on that day.
    pub stored_at: Timestamp,
    /// The call.
    pub call: MeteredCall,
}

/// What has a sum of its own.
type Key<'c> = (&'c TenantId, UsageScope, Day, &'c str);

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    calls: u64,
    input_tokens: u64,
    output_tokens: u64,
}

/// Adds metered calls to the sums of everyone whom they count against.
pub(super) async fn count_usage(
    connection: &mut PgConnection,
    calls: &[PlacedUsage],
) -> Result<(), ReadModelError> {
    if calls.is_empty() {
        return Ok(());
    }
    let sums = sums_of(calls);
    sqlx::query_with(include_str!("count_usage.sql"), arguments(&sums))
        .execute(connection)
        .await?;
    Ok(())
}

/// Removes usage that is older than it is kept, [`USAGE_EXPIRED_PER_CALL_MAX`] rows of each kind at most; how many.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn expire_usage(model: &ReadModel, now: Timestamp) -> Result<u64, ReadModelError> {
    let mut gone = 0_u64;
    for (scopes, days) in [
        (UsageScope::WITHOUT_OWNERS.as_slice(), USAGE_KEPT_DAYS),
        (&[UsageScope::Owner], OWNER_USAGE_KEPT_DAYS),
    ] {
        let scopes: Vec<i16> = scopes.iter().map(|scope| scope.code()).collect();
        let arguments = || {
            let arguments = bind(PgArguments::default(), scopes.as_slice());
            let arguments = bind(arguments, Day::of(now).before(days));
            bind(arguments, i64::from(USAGE_EXPIRED_PER_CALL_MAX))
        };
        let rows = model.fetch(include_str!("expire_usage.sql"), arguments);
        gone = gone.saturating_add(u64::try_from(rows.await?.len()).unwrap_or(u64::MAX));
    }
    Ok(gone)
}

/// Removes the usage of an owner of a tenant; how many rows there were.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn forget_owner_usage(
    model: &ReadModel,
    tenant: &TenantId,
    owner: &OwnerDigest,
) -> Result<u64, ReadModelError> {
    let work = async |connection: &mut PgConnection| {
        let sql =
            "DELETE FROM hansard.model_usage WHERE tenant_id = $1 AND scope = $2 AND name = $3";
        let query = sqlx::query(sql)
            .bind(tenant.as_str())
            .bind(UsageScope::Owner.code())
            .bind(owner.as_str());
        let gone = query.execute(connection).await?;
        Ok::<_, ReadModelError>(gone.rows_affected())
    };
    model.transaction(Durability::Durable, work).await
}

/// Whom a call counts against.
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

fn sums_of(calls: &[PlacedUsage]) -> BTreeMap<Key<'_>, Sums> {
    let mut all: BTreeMap<Key<'_>, Sums> = BTreeMap::new();
    for placed in calls {
        let (call, day) = (&placed.call, Day::of(placed.stored_at));
        for (scope, name) in subjects(call) {
            let sums = all.entry((&placed.tenant, scope, day, name)).or_default();
            sums.calls += 1;
            sums.input_tokens = sums.input_tokens.saturating_add(call.input_tokens);
            sums.output_tokens = sums.output_tokens.saturating_add(call.output_tokens);
        }
    }
    all
}

fn arguments(sums: &BTreeMap<Key<'_>, Sums>) -> PgArguments {
    let numbers = |number: fn(&Sums) -> u64| -> Vec<i64> {
        sums.values().map(|sums| signed(number(sums))).collect()
    };
    let arguments = bind(PgArguments::default(), numbers(|sums| sums.calls));
    let arguments = bind(arguments, numbers(|sums| sums.input_tokens));
    let arguments = bind(arguments, numbers(|sums| sums.output_tokens));
    let days: Vec<Day> = sums.keys().map(|(_, _, day, _)| *day).collect();
    let arguments = bind(arguments, days);
    let scopes: Vec<i16> = sums.keys().map(|(_, scope, ..)| scope.code()).collect();
    let arguments = bind(arguments, scopes);
    let tenants: Vec<&str> = sums.keys().map(|(tenant, ..)| tenant.as_str()).collect();
    let arguments = bind(arguments, tenants);
    let names: Vec<&str> = sums.keys().map(|(.., name)| *name).collect();
    bind(arguments, names)
}
