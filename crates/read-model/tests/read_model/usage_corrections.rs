//! Corrections of usage: each counts once, in the sums of calls and in the usage of messages, and no count falls below zero.

use domain::event::Usage;
use domain::{
    AgentId, CommitId, CorrectedCounts, Label, LogId, MeteredCall, OwnerDigest, TenantId, Timestamp, TokenChanges,
    UsageCorrection,
};
use read_model::projections::conversations::delete_usage;
use read_model::projections::provider_logs::{StoredCorrection, StoredUsage, USAGE_KEPT_DAYS, expire_usage};
use read_model::queries::{UsageScope, UsedTokens, model_usage_of};
use read_model::{Day, DayRange, ReadModel, usage_by_day};
use uuid::Uuid;

use crate::fixture::{Author, Projection, START, access, reply};
use crate::provider_logs::Log;

const DAY: i64 = 86_400_000_000_000;

fn tenant(id: &str) -> TenantId {
    TenantId::parse(id).unwrap()
}

fn owner() -> OwnerDigest {
    OwnerDigest::parse(&"a1".repeat(16)).unwrap()
}

fn used(tokens: u64) -> StoredUsage {
    StoredUsage {
        tenant: tenant("acme"),
        stored_at: START,
        call: MeteredCall {
            id: LogId(Uuid::now_v7()),
            agent: AgentId::parse("support").unwrap(),
            api_key: Label::parse("key").ok(),
            owner: Some(owner()),
            input_tokens: tokens,
            output_tokens: 5,
        },
    }
}

fn correction(id: u128, counts: CorrectedCounts, tokens: TokenChanges) -> StoredCorrection {
    let agent = AgentId::parse("support").unwrap();
    let correction = UsageCorrection { id: CommitId(Uuid::from_u128(id)), agent, day: START, counts, tokens };
    StoredCorrection { tenant: tenant("acme"), correction }
}

fn of_calls(id: u128, input: i64) -> StoredCorrection {
    let counts = CorrectedCounts::ModelCalls { api_key: Label::parse("key").ok(), owner: Some(owner()) };
    correction(id, counts, TokenChanges { input, ..TokenChanges::default() })
}

fn of_messages(id: u128, model: Option<&str>, tokens: TokenChanges) -> StoredCorrection {
    let model = model.map(|model| Label::parse(model).unwrap());
    correction(id, CorrectedCounts::Messages { model }, tokens)
}

/// The sums of the tenant, the agent, the key and the owner.
async fn sums(model: &ReadModel) -> Vec<UsedTokens> {
    let owner = owner();
    let subjects = [
        (UsageScope::Tenant, ""),
        (UsageScope::Agent, "support"),
        (UsageScope::Key, "key"),
        (UsageScope::Owner, owner.as_str()),
    ];
    model_usage_of(model, &access("acme"), Day::from_time(START), &subjects).await.unwrap()
}

#[tokio::test]
async fn a_correction_of_calls_counts_once_and_leaves_no_negative_sum() {
    let projection = Projection::new().await;
    let model = &projection.model;
    let mut log = Log::new(model).await;
    log.meter(vec![used(u64::MAX), used(10)]).await;
    let largest = i64::MAX;
    for (made, tokens, corrections) in [
        (of_calls(1, -largest), 10, 1),
        // A retry, and a stream that is read again.
        (of_calls(1, -largest), 10, 1),
        (of_calls(2, 90), 100, 2),
        (of_calls(3, i64::MIN), 10, 3),
        (of_calls(4, largest), 10 + largest.unsigned_abs(), 4),
        (of_calls(5, largest), 10 + largest.unsigned_abs(), 5),
        (of_calls(6, -largest), 10, 6),
    ] {
        log.correct(vec![made.clone(), made.clone()]).await;
        assert_eq!(sums(model).await, [UsedTokens { tokens, corrections }; 4], "{made:?}");
    }
    // A correction of the agent alone.
    let of_agent = CorrectedCounts::ModelCalls { api_key: None, owner: None };
    log.correct(vec![correction(7, of_agent, TokenChanges { output: -4, ..TokenChanges::default() })]).await;
    let tokens = sums(model).await.into_iter().map(|used| used.tokens);
    assert!(tokens.eq([6, 6, 10, 10]));
    // Calls count on.
    log.meter(vec![used(3)]).await;
    let tokens = sums(model).await.into_iter().map(|used| used.tokens);
    assert!(tokens.eq([14, 14, 18, 18]));
}

#[tokio::test]
async fn a_correction_of_another_day_or_tenant_changes_nothing() {
    let projection = Projection::new().await;
    let model = &projection.model;
    let mut log = Log::new(model).await;
    log.meter(vec![used(10)]).await;
    let mut yesterday = of_calls(1, -5);
    yesterday.correction.day = Timestamp(START.0 - DAY);
    let foreign = StoredCorrection { tenant: tenant("other"), ..of_calls(2, -5) };
    log.correct(vec![yesterday, foreign]).await;
    assert_eq!(sums(model).await, [UsedTokens { tokens: 15, corrections: 0 }; 4]);
}

#[tokio::test]
async fn reports_of_messages_show_corrections() {
    let mut projection = Projection::new().await;
    let mut author = Author::new("a");
    author.created.agent = AgentId::parse("support").unwrap();
    let usage = Usage { input_tokens: 100, output_tokens: 50, cached_tokens: 20, reasoning_tokens: 10 };
    let facts = vec![reply(Some("m"), Some(usage)), reply(None, Some(usage))];
    projection.apply(vec![author.begin(1), author.commit(2, facts)]).await;
    let mut log = Log::new(&projection.model).await;
    let day = Day::from_time(START);
    let agent = AgentId::parse("support").unwrap();
    let check = async |expected: [(Option<&str>, Usage); 2]| {
        for agent in [None, Some(&agent)] {
            let days = DayRange::new(day, day).unwrap();
            let rows = usage_by_day(&projection.model, &access("acme"), agent, days).await.unwrap();
            let seen: Vec<_> = rows.iter().map(|row| (row.model.as_deref(), row.tokens)).collect();
            assert_eq!(seen, expected);
        }
    };
    let tokens = TokenChanges { input: -99, output: 1, cached: i64::MIN, reasoning: i64::MAX };
    let made = [of_messages(1, Some("m"), tokens), of_messages(2, Some("absent"), tokens)];
    log.correct([made.as_slice(), made.as_slice()].concat()).await;
    let largest = i64::MAX.unsigned_abs();
    let corrected = Usage { input_tokens: 1, output_tokens: 51, cached_tokens: 0, reasoning_tokens: largest };
    check([(None, usage), (Some("m"), corrected)]).await;
    log.correct(vec![of_messages(3, None, TokenChanges { input: -1, ..TokenChanges::default() })]).await;
    let unnamed = Usage { input_tokens: 99, ..usage };
    check([(None, unnamed), (Some("m"), corrected)]).await;
    let foreign = usage_by_day(&projection.model, &access("other"), None, DayRange::new(day, day).unwrap()).await;
    assert_eq!(foreign.unwrap(), []);
}

#[tokio::test]
async fn corrections_expire_and_are_deleted_with_their_tenant() {
    let projection = Projection::new().await;
    let model = &projection.model;
    let mut log = Log::new(model).await;
    let later = |days: u32| Timestamp(START.0 + i64::from(days) * DAY);
    let tokens = TokenChanges { input: 1, ..TokenChanges::default() };
    log.correct(vec![of_messages(1, None, tokens)]).await;
    assert_eq!(expire_usage(model, later(USAGE_KEPT_DAYS)).await, Ok(0));
    assert_eq!(expire_usage(model, later(USAGE_KEPT_DAYS + 1)).await, Ok(1));
    log.correct(vec![of_messages(1, None, tokens)]).await;
    delete_usage(model, &tenant("acme")).await.unwrap();
    assert_eq!(expire_usage(model, later(USAGE_KEPT_DAYS + 1)).await, Ok(0));
}
