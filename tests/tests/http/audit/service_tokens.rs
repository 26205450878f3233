//! Reads by service tokens are recorded if the tenant asks for it.

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::user;
use tests::eventually::eventually;
use tonic::Code;
use wire::proto::event::v1::{Owner, owner};
use wire::proto::operate::v1 as operate;
use wire::proto::operate::v1::AuditActorKind;
use wire::proto::operate::v1::Scope;
use wire::proto::operate::v1::audited_read::Reader;

use super::administrators::mcp;
use super::entries_of;
use crate::fixture::{Fixture, bearer};

const KIND: AuditActorKind = AuditActorKind::ServiceToken;

async fn set(fixture: &Fixture, service_token_reads: bool) {
    let request = operate::SetTenantAuditRequest {
        tenant_id: fixture.tenant.to_owned(),
        service_token_reads: Some(service_token_reads),
    };
    let set = fixture.operator.registry().set_tenant_audit(request).await.expect("a tenant").into_inner();
    assert_eq!(set.tenant.unwrap().audit.unwrap().service_token_reads, service_token_reads);
}

/// Conversations of a user with these ids.
async fn create(fixture: &Fixture, ids: &[&str], kind: owner::Kind) {
    for id in ids {
        let owner = Some(Owner { kind: Some(kind.clone()) });
        let request = operate_create(fixture, id, owner);
        fixture.agent.try_create(request).await.expect("a conversation");
        fixture.agent.append(id, vec![user("sesame")]).await;
    }
}

fn operate_create(
    fixture: &Fixture,
    id: &str,
    owner: Option<Owner>,
) -> wire::proto::write::v1::CreateConversationRequest {
    wire::proto::write::v1::CreateConversationRequest { owner, ..fixture.agent.create_request(id) }
}

/// The conversations of the entries, sorted, when there are this many.
async fn conversations(fixture: &Fixture, count: usize) -> Vec<String> {
    let found = eventually("the entries", || async {
        let entries = entries_of(fixture, KIND).await;
        (entries.len() >= count).then_some(entries)
    });
    let mut found: Vec<String> = found.await.into_iter().map(|entry| entry.conversation_id).collect();
    found.sort();
    found
}

/// A reader with a new token, and a client of HTTP with it.
async fn reader(fixture: &Fixture) -> (Agent, tests::http_client::HttpClient) {
    let token = fixture.operator.token(&[Scope::Read], fixture.tenant).await;
    let agent = Agent::new(fixture.agent.caller().with_token(&token.secret), fixture.agent_id);
    (agent, bearer(&fixture.stack, &token.secret).with("x-agent-id", fixture.agent_id))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_surface_leaves_an_entry_if_the_tenant_asks_for_it() {
    let fixture = Fixture::new().await;
    let ids = ["events", "get", "http", "mcp", "openai", "watch"];
    create(&fixture, &ids, owner::Kind::UserId("ada".to_owned())).await;
    let (agent, http) = reader(&fixture).await;
    agent.try_get(agent.read_target("get")).await.expect("a conversation");
    assert_eq!(entries_of(&fixture, KIND).await, []);
    set(&fixture, true).await;
    // The gateway learns it a moment later.
    eventually("an entry", || async {
        agent.try_get(agent.read_target("get")).await.expect("a conversation");
        (!entries_of(&fixture, KIND).await.is_empty()).then_some(())
    })
    .await;
    for _ in 0..2 {
        agent.try_events(agent.list_request("events")).await.expect("events");
        let watched = agent.caller().read().watch_conversation(agent.watch_request("watch", 0)).await;
        watched.expect("a stream").into_inner().message().await.expect("an event");
        assert_eq!(http.get("/v1/conversations/http/events").await.status, 200);
        let owned = http.with("x-hansard-user", "ada");
        assert_eq!(owned.get("/openai/v1/conversations/openai/items").await.status, 200);
        let history = json!({"name": "fetch_chat_history", "arguments": {"conversation_id": "mcp"}});
        let answer: Value = mcp(&http, "tools/call", history).await;
        assert_ne!(answer["result"]["isError"], true, "{answer}");
    }
    // Once in this hour, which may have ended in between.
    let mut found = conversations(&fixture, ids.len()).await;
    found.dedup();
    assert_eq!(found, ids);
    let entries = entries_of(&fixture, KIND).await;
    assert!(entries.iter().all(|entry| entry.name == "a test" && entry.action == "viewed"), "{entries:?}");
    assert!(!format!("{entries:?}").contains("sesame"));
    // Another token has entries of its own.
    let (other, _) = reader(&fixture).await;
    other.try_get(other.read_target("get")).await.expect("a conversation");
    let found = conversations(&fixture, entries.len() + 1).await;
    assert_eq!(found.iter().filter(|id| *id == "get").count(), 2, "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_conversations_of_users_and_sessions_leave_entries() {
    let fixture = Fixture::new().await;
    set(&fixture, true).await;
    create(&fixture, &["last"], owner::Kind::SessionId("s".to_owned())).await;
    let (agent, http) = reader(&fixture).await;
    let channel = json!({"messages": [{"role": "user", "content": "sesame"}]});
    let writer = fixture.operator.token(&[Scope::Append, Scope::Read], fixture.tenant).await;
    let writer = bearer(&fixture.stack, &writer.secret).with("x-agent-id", fixture.agent_id);
    writer.post("/v1/histories/room/messages", &channel).await;
    for missing in ["none", "history:audit:2026-11"] {
        let outcome = agent.try_get(agent.read_target(missing)).await.map(drop);
        check_failure(missing, outcome, (Code::NotFound, "CONVERSATION_NOT_FOUND", ""));
    }
    // Another agent's conversation looks missing, and the read of it is no read.
    let colleague = Agent::new(agent.caller().clone(), fixture.other_agent_id);
    colleague.try_get(colleague.read_target("last")).await.expect_err("a foreign conversation");
    eventually("an entry", || async {
        assert_eq!(http.get("/v1/conversations/last").await.status, 200);
        (!entries_of(&fixture, KIND).await.is_empty()).then_some(())
    })
    .await;
    let found = conversations(&fixture, 1).await;
    assert!(found.iter().all(|id| id == "last"), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_but_a_gateway_records_reads() {
    let fixture = Fixture::new().await;
    let request = || operate::RecordReadsRequest {
        tenant_id: fixture.tenant.to_owned(),
        idempotency_key: "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11".to_owned(),
        reads: vec![operate::AuditedRead {
            reader: Some(Reader::Administrator("mallory".to_owned())),
            action: operate::DashboardAction::Viewed.into(),
            ..operate::AuditedRead::default()
        }],
    };
    let not_found = (Code::NotFound, "REGISTRY_ENTRY_NOT_FOUND", "tenant_id");
    let missing_scope = (Code::PermissionDenied, "MISSING_SCOPE", "");
    let scopes = [Scope::Append, Scope::Read, Scope::Operate, Scope::Erase];
    let of_agent = [Scope::Append, Scope::Read, Scope::Erase];
    let bound = fixture.operator.secret_key(&of_agent, &[fixture.agent_id]).await.secret;
    for (case, token, expected) in [
        ("a token of the tenant", fixture.operator.token(&scopes, fixture.tenant).await.secret, not_found),
        ("a token of another", fixture.operator.token(&scopes, fixture.foreign_tenant).await.secret, not_found),
        ("a token of an agent", bound, not_found),
        ("a token without append", fixture.operator.token(&[Scope::Operate], "").await.secret, missing_scope),
    ] {
        let outcome = fixture.stack.caller(&token).registry().record_reads(request()).await;
        check_failure(case, outcome.map(drop), expected);
    }
    let mut registry = fixture.operator.registry();
    let none = operate::RecordReadsRequest { reads: Vec::new(), ..request() };
    let expected = (Code::InvalidArgument, "FIELD_OUT_OF_RANGE", "reads");
    check_failure("no reads", registry.record_reads(none).await.map(drop), expected);
    let unnamed = operate::RecordReadsRequest { idempotency_key: String::new(), ..request() };
    let expected = (Code::InvalidArgument, "FIELD_MISSING", "idempotency_key");
    check_failure("no key", registry.record_reads(unnamed).await.map(drop), expected);
    assert_eq!(entries_of(&fixture, AuditActorKind::Administrator).await, []);
    // A retry of a gateway records nothing twice.
    let request = operate::RecordReadsRequest { idempotency_key: uuid::Uuid::now_v7().to_string(), ..request() };
    for _ in 0..2 {
        registry.record_reads(request.clone()).await.expect("a position");
    }
    assert_eq!(entries_of(&fixture, AuditActorKind::Administrator).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_operators_of_the_tenant_set_it() {
    let fixture = Fixture::new().await;
    let request =
        || operate::SetTenantAuditRequest { tenant_id: fixture.tenant.to_owned(), service_token_reads: Some(true) };
    let foreign = fixture.operator.token(&[Scope::Operate], fixture.foreign_tenant).await.secret;
    let reader = fixture.operator.token(&[Scope::Append, Scope::Read], fixture.tenant).await.secret;
    for (case, token, expected) in [
        ("a foreign operator", foreign, (Code::NotFound, "REGISTRY_ENTRY_NOT_FOUND", "tenant_id")),
        ("no operator", reader, (Code::PermissionDenied, "MISSING_SCOPE", "")),
    ] {
        let outcome = fixture.stack.caller(&token).registry().set_tenant_audit(request()).await;
        check_failure(case, outcome.map(drop), expected);
    }
}
