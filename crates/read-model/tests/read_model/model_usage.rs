//! Usage of models: counted once per day and scope, expired, and deleted with a tenant or an owner.

use domain::{AgentId, Label, LogId, MeteredCall, OwnerDigest, TenantId, Timestamp};
use read_model::projections::conversations::delete_usage;
use read_model::projections::provider_logs::{
    OWNER_USAGE_KEPT_DAYS, StoredUsage, USAGE_KEPT_DAYS, delete_owner_usage, expire_usage,
};
use read_model::queries::{ModelUsageDay, UsageScope, model_usage_by_day, model_usage_of};
use read_model::{Day, DayRange, ReadModel};
use uuid::Uuid;

use crate::fixture::{Projection, access};
use crate::provider_logs::Log;

const DAY: i64 = 86_400_000_000_000;
/// The start of a day.
const NOW: Timestamp = Timestamp(20_000 * DAY);

fn later(days: u32) -> Timestamp {
    Timestamp(NOW.0 + i64::from(days) * DAY)
}

fn digest(digits: &str) -> OwnerDigest {
    OwnerDigest::parse(&digits.repeat(16)).unwrap()
}

fn used(tenant: &str, owner: Option<&str>, tokens: u64) -> StoredUsage {
    StoredUsage {
        tenant: TenantId::parse(tenant).unwrap(),
        stored_at: NOW,
        call: MeteredCall {
            id: LogId(Uuid::now_v7()),
            agent: AgentId::parse("support").unwrap(),
            api_key: owner.map(|_| Label::parse("key").unwrap()),
            owner: owner.map(digest),
            input_tokens: tokens,
            output_tokens: 1,
        },
    }
}

/// The tokens of a day: of the tenant, its agent, its key and two owners.
async fn sums(model: &ReadModel, tenant: &str, at: Timestamp) -> Vec<u64> {
    let (ada, bob) = (digest("a1"), digest("b2"));
    let subjects = [
        (UsageScope::Tenant, ""),
        (UsageScope::Agent, "support"),
        (UsageScope::Key, "key"),
        (UsageScope::Owner, ada.as_str()),
        (UsageScope::Owner, bob.as_str()),
    ];
    let access = access(tenant);
    let used = model_usage_of(model, &access, Day::from_time(at), &subjects).await.unwrap();
    used.into_iter().map(|used| used.tokens).collect()
}

#[tokio::test]
async fn tokens_are_summed_by_scope() {
    let projection = Projection::new().await;
    let model = &projection.model;
    let mut log = Log::new(model).await;
    let mut next_day = used("acme", Some("a1"), 7);
    next_day.stored_at = later(1);
    log.meter(vec![
        used("acme", Some("a1"), 10),
        used("acme", Some("b2"), 20),
        used("acme", None, 30),
        used("other", None, 99),
        next_day,
    ])
    .await;
    assert_eq!(sums(model, "acme", NOW).await, [63, 63, 32, 11, 21]);
    log.meter(vec![used("acme", Some("a1"), 1)]).await;
    assert_eq!(sums(model, "acme", NOW).await, [65, 65, 34, 13, 21]);
    assert_eq!(sums(model, "acme", later(1)).await, [8, 8, 8, 8, 0]);
    assert_eq!(sums(model, "other", NOW).await, [100, 100, 0, 0, 0]);
    // Sums saturate.
    let most = u64::MAX;
    log.meter(vec![used("acme", Some("a1"), most), used("acme", None, most)]).await;
    let all = u64::try_from(i64::MAX).unwrap();
    assert!(sums(model, "acme", NOW).await[0] >= all);
}

#[tokio::test]
async fn agents_and_keys_are_listed_by_day() {
    let projection = Projection::new().await;
    let model = &projection.model;
    let mut log = Log::new(model).await;
    log.meter(vec![used("acme", Some("a1"), 10), used("acme", None, 20)]).await;
    let day = Day::from_time(NOW);
    let row = |scope, name: &str, (calls, input_tokens)| ModelUsageDay {
        day,
        scope,
        name: name.to_owned(),
        calls,
        input_tokens,
        output_tokens: calls,
    };
    let agent = row(UsageScope::Agent, "support", (2, 30));
    let key = row(UsageScope::Key, "key", (1, 10));
    let days = |at| DayRange::new(Day::from_time(at), Day::from_time(at)).unwrap();
    let check = async |of: Option<&str>, at, expected: &[ModelUsageDay]| {
        let of = of.map(|of| AgentId::parse(of).unwrap());
        let read = model_usage_by_day(model, &access("acme"), of.as_ref(), days(at)).await;
        assert_eq!(read.unwrap(), expected, "{of:?}");
    };
    check(None, NOW, &[agent.clone(), key]).await;
    check(Some("support"), NOW, &[agent]).await;
    // The name of a key is not an agent.
    check(Some("key"), NOW, &[]).await;
    check(None, later(1), &[]).await;
}

#[tokio::test]
async fn usage_expires() {
    let projection = Projection::new().await;
    let model = &projection.model;
    let mut log = Log::new(model).await;
    log.meter(vec![used("acme", Some("a1"), 1)]).await;
    let check = async |days: u32, deleted: u64, rest: [u64; 5]| {
        assert_eq!(expire_usage(model, later(days)).await, Ok(deleted), "{days}");
        assert_eq!(sums(model, "acme", NOW).await, rest, "{days}");
    };
    check(OWNER_USAGE_KEPT_DAYS, 0, [2, 2, 2, 2, 0]).await;
    check(OWNER_USAGE_KEPT_DAYS + 1, 1, [2, 2, 2, 0, 0]).await;
    check(USAGE_KEPT_DAYS, 0, [2, 2, 2, 0, 0]).await;
    check(USAGE_KEPT_DAYS + 1, 3, [0, 0, 0, 0, 0]).await;
}

#[tokio::test]
async fn usage_of_owners_and_tenants_is_deleted() {
    let projection = Projection::new().await;
    let model = &projection.model;
    let mut log = Log::new(model).await;
    let both = |tenant| [used(tenant, Some("a1"), 1), used(tenant, Some("b2"), 2)];
    log.meter([both("acme"), both("other")].concat()).await;
    let acme = TenantId::parse("acme").unwrap();
    let deleted = delete_owner_usage(model, &acme, &digest("a1")).await;
    assert_eq!(deleted, Ok(1));
    assert_eq!(sums(model, "acme", NOW).await, [5, 5, 5, 0, 3]);
    assert_eq!(delete_usage(model, &acme).await, Ok(4));
    assert_eq!(sums(model, "acme", NOW).await, [0; 5]);
    assert_eq!(sums(model, "other", NOW).await, [5, 5, 5, 2, 3]);
}
