//! Logged calls of an erased conversation are erased from every file of NATS and every row.

use domain::{Owner, OwnerDigest, TenantAccess, TenantId, Timestamp, UserId};
use read_model::queries::{ProviderLogQuery, UsageScope, model_usage_of, provider_logs};
use read_model::{Day, ReadModel};
use serde_json::Value;
use tests::agent::Agent;
use tests::checker;
use tests::events::session;
use tests::eventually::eventually;
use tests::stack::{Setup, Stack};
use uuid::Uuid;
use wire::proto::operate::v1::{AgentSettings, ProviderLogDetail, ProviderLogSettings};
use wire::proto::run::v1::{LoggedBody, MeterModelCallRequest, MeteredCall};

use crate::cli::{check, conversation, in_nats, json};

const SECRET: &str = "the-grey-parrot-knows-the-code";
const KEPT: &str = "the-red-parrot-knows-nothing";

async fn log(agent: &Agent, id: &str, text: &str) {
    let mut request = agent.log_request(id, &Uuid::now_v7().to_string());
    let call = request.call.as_mut().expect("a call");
    let body = LoggedBody { text: text.to_owned(), is_cut: false };
    (call.request, call.reply) = (Some(body.clone()), Some(body));
    assert!(agent.try_log(request).await.expect("an answer"));
}

/// The conversations in the rows of the log.
async fn rows(stack: &Stack) -> Option<Vec<String>> {
    let config = &stack.projector.settings.projector.read_model;
    let model = ReadModel::connect_lazy(config).ok()?;
    let access = TenantAccess::grant(TenantId::parse("acme").ok()?);
    let query = ProviderLogQuery { limit: 100, ..ProviderLogQuery::default() };
    let rows = provider_logs(&model, &access, &query).await.ok()?;
    let mut ids: Vec<String> = rows.iter().map(|row| row.conversation.as_str().to_owned()).collect();
    ids.sort_unstable();
    Some(ids)
}

async fn wait_for_rows(stack: &Stack, ids: &[&str]) {
    eventually(&format!("rows of {ids:?}"), || async { (rows(stack).await? == ids).then_some(()) }).await;
}

/// Runs SQL that returns JSON.
async fn psql(stack: &mut Stack, sql: &str) {
    let url = stack.servers.database_url().to_owned();
    let psql = stack.servers.postgres_mut().tool("psql");
    checker::query(&psql, &url, sql).await.expect("rows");
}

async fn enable_log(setup: Setup) -> (Stack, Agent) {
    let stack = setup.start().await;
    let agent = stack.agent("acme", "support").await;
    let settings = AgentSettings {
        provider_logs: Some(ProviderLogSettings { detail: ProviderLogDetail::Bodies.into(), days: 0 }),
        ..AgentSettings::default()
    };
    stack.operator().await.settings("support", settings).await;
    (stack, agent)
}

#[tokio::test(flavor = "multi_thread")]
async fn logged_calls_are_erased_with_their_conversation() {
    let (stack, agent) = enable_log(Setup::tasks()).await;
    for id in ["by-operator", "by-caller", "kept"] {
        conversation(&agent, id, session("s"), &["hello".to_owned()]).await;
        let text = if id == "kept" { KEPT } else { SECRET };
        log(&agent, id, text).await;
    }
    wait_for_rows(&stack, &["by-caller", "by-operator", "kept"]).await;
    assert_eq!(in_nats(&stack, &[SECRET, KEPT]), [SECRET, KEPT]);
    let [ada, bob] = ["ada", "bob"].map(|user| OwnerDigest::of(&Owner::User(parse_user(user))));
    let digests = [ada.as_str(), bob.as_str()];
    for digest in digests {
        meter(&agent, digest).await;
    }
    wait_for_usage(&stack, digests, &[3, 3]).await;
    // A caller without a conversation is known only from the usage of models.
    check(&stack, "erase user ada --tenant acme", 0).await;
    wait_for_usage(&stack, digests, &[0, 3]).await;
    assert_eq!(in_nats(&stack, &digests), [bob.as_str()]);
    check(&stack, "erase user ada --tenant acme", 1).await;
    agent.try_erase(agent.target("by-caller")).await.expect("an erasure");
    let report: Value = json(&stack, "erase conversation by-operator --tenant acme --json").await;
    assert_eq!(report["signed"]["receipt"]["rows"], "gone", "{report}");
    assert_eq!(in_nats(&stack, &[SECRET, KEPT]), [KEPT]);
    wait_for_rows(&stack, &["kept"]).await;
    check(&stack, "erase tenant acme", 0).await;
    assert_eq!(in_nats(&stack, &[SECRET, KEPT]), [""; 0]);
    wait_for_rows(&stack, &[]).await;
    wait_for_usage(&stack, digests, &[0, 0]).await;
    assert_eq!(in_nats(&stack, &digests), [""; 0]);
}

fn parse_user(user: &str) -> UserId {
    UserId::parse(user).expect("an id")
}

async fn meter(agent: &Agent, owner_digest: &str) {
    let call = MeteredCall {
        call_id: Uuid::now_v7().to_string(),
        agent_id: agent.id().to_owned(),
        owner_digest: owner_digest.to_owned(),
        input_tokens: 1,
        output_tokens: 2,
        ..MeteredCall::default()
    };
    let request = MeterModelCallRequest { call: Some(call) };
    assert!(agent.try_meter(request).await.expect("an answer"));
}

async fn wait_for_usage(stack: &Stack, owners: [&str; 2], tokens: &[u64]) {
    let config = &stack.projector.settings.projector.read_model;
    let model = ReadModel::connect_lazy(config).expect("a configuration");
    let access = TenantAccess::grant(TenantId::parse("acme").expect("an id"));
    let named = owners.map(|owner| (UsageScope::Owner, owner));
    eventually(&format!("usage of {tokens:?}"), || async {
        let now = i64::try_from(time_nanos()).ok()?;
        let today = Day::from_time(Timestamp(now));
        let used = model_usage_of(&model, &access, today, &named).await.ok()?;
        used.iter().map(|used| used.tokens).eq(tokens.iter().copied()).then_some(())
    })
    .await;
}

fn time_nanos() -> u128 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH);
    since.expect("a clock").as_nanos()
}

#[tokio::test(flavor = "multi_thread")]
async fn logged_calls_expire() {
    let (mut stack, agent) = enable_log(Setup::tasks().with_own_postgres()).await;
    conversation(&agent, "c", session("s"), &["hello".to_owned()]).await;
    for _ in 0..3 {
        log(&agent, "c", KEPT).await;
    }
    wait_for_rows(&stack, &["c", "c", "c"]).await;
    let over = "WITH over AS (UPDATE hansard.provider_log SET kept_until = now() WHERE log_id = \
                (SELECT min(log_id::text)::uuid FROM hansard.provider_log) RETURNING 1) \
                SELECT to_jsonb(t) FROM (SELECT count(*) FROM over) AS t";
    psql(&mut stack, over).await;
    wait_for_rows(&stack, &["c", "c"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shorter_log_streams_are_read_again() {
    let (mut stack, agent) = enable_log(Setup::tasks().with_own_postgres()).await;
    conversation(&agent, "c", session("s"), &["hello".to_owned()]).await;
    log(&agent, "c", KEPT).await;
    wait_for_rows(&stack, &["c"]).await;
    // A state as if the rows came from another, longer stream.
    let longer_stream = "WITH gone AS (DELETE FROM hansard.provider_log RETURNING 1), \
                     moved AS (UPDATE hansard.provider_log_checkpoint SET sequence = 1000 RETURNING 1) \
                     SELECT to_jsonb(t) FROM (SELECT count(*) FROM gone, moved) AS t";
    psql(&mut stack, longer_stream).await;
    log(&agent, "c", KEPT).await;
    wait_for_rows(&stack, &["c", "c"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_projectors_write_no_rows_of_erased_conversations() {
    let (mut stack, agent) = enable_log(Setup::tasks()).await;
    stack.projector.stop().await;
    for id in ["gone", "kept"] {
        conversation(&agent, id, session("s"), &["hello".to_owned()]).await;
        log(&agent, id, KEPT).await;
    }
    agent.try_erase(agent.target("gone")).await.expect("an erasure");
    stack.projector.start().await;
    wait_for_rows(&stack, &["kept"]).await;
    eventually("the tombstone's row", || async { agent.try_get(agent.read_target("gone")).await.err() }).await;
    wait_for_rows(&stack, &["kept"]).await;
}
