//! The session token of a person of the dashboard at the registry service: what an administrator may do, and nothing else.

use tests::agent::Agent;
use tests::client::Caller;
use tests::dashboard::Browser;
use tests::errors::{Expected, check_failure};
use tests::events::user;
use tests::eventually::eventually;
use tests::operator::Operator;
use tests::stack::{Setup, Stack};
use tonic::Code::{NotFound, PermissionDenied, Unauthenticated};
use tonic::Status;
use wire::proto::history::v1::{HistoryKey, LoadHistoryRequest};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::DashboardRole;

const NOBODY: Expected = (Unauthenticated, "UNAUTHENTICATED", "");

/// An agent of each of two tenants, an API key of the foreign one, and their operator.
async fn setup() -> (Stack, Operator, String) {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    operator.agent("globex", "globex-support").await;
    let foreign = operator.api_key("globex-support").await;
    (stack, operator, foreign.id)
}

async fn session(stack: &Stack, operator: &Operator, role: DashboardRole) -> (Browser, Caller) {
    let client = stack.http_client();
    let browser = Browser::signed_in(client, operator, "acme", role).await;
    let caller = operator.caller().with_token(browser.session_token());
    (browser, caller)
}

/// The outcomes of every rpc that accepts sessions, on a tenant, its agent and its API key.
async fn accepted(
    caller: &Caller,
    (tenant, id, key): (&str, &str, &str),
) -> Vec<(&'static str, Result<(), Status>)> {
    let mut registry = caller.registry();
    let (tenant_id, agent_id) = (tenant.to_owned(), id.to_owned());
    let api_key_id = key.to_owned();
    let agents = proto::ListAgentsRequest {
        tenant_id: tenant_id.clone(),
    };
    let keys = proto::ListApiKeysRequest {
        agent_id: agent_id.clone(),
    };
    let signing_keys = proto::ListSigningKeysRequest {
        tenant_id: tenant_id.clone(),
    };
    let get_policy = proto::GetContextPolicyRequest {
        agent_id: agent_id.clone(),
        ..Default::default()
    };
    let settings = proto::SetAgentSettingsRequest {
        agent_id: agent_id.clone(),
        ..Default::default()
    };
    let policy = proto::SetContextPolicyRequest {
        agent_id: agent_id.clone(),
        policy_json: "{}".to_owned(),
    };
    let new_key = proto::CreateApiKeyRequest {
        agent_id: agent_id.clone(),
        ..Default::default()
    };
    let secret = proto::RotateWebhookSecretRequest {
        agent_id,
        overlap_seconds: 0,
    };
    let origins = proto::SetApiKeyOriginsRequest {
        api_key_id: api_key_id.clone(),
        allowed_origins: vec!["*".to_owned()],
    };
    let rotate = proto::RotateApiKeyRequest {
        api_key_id: api_key_id.clone(),
        overlap_seconds: 60,
    };
    let revoke = proto::RevokeApiKeyRequest { api_key_id };
    let add = proto::AddSigningKeyRequest {
        tenant_id: tenant_id.clone(),
        signing_key_id: "next".to_owned(),
        r#use: proto::SigningKeyUse::User.into(),
        kind: None,
    };
    let retire = proto::RetireSigningKeyRequest {
        tenant_id,
        signing_key_id: "next".to_owned(),
        retired_at: None,
    };
    vec![
        ("list agents", registry.list_agents(agents).await.map(drop)),
        ("list keys", registry.list_api_keys(keys).await.map(drop)),
        (
            "list signing keys",
            registry.list_signing_keys(signing_keys).await.map(drop),
        ),
        (
            "get policy",
            registry.get_context_policy(get_policy).await.map(drop),
        ),
        (
            "set settings",
            registry.set_agent_settings(settings).await.map(drop),
        ),
        (
            "set policy",
            registry.set_context_policy(policy).await.map(drop),
        ),
        (
            "create key",
            registry.create_api_key(new_key).await.map(drop),
        ),
        (
            "rotate secret",
            registry.rotate_webhook_secret(secret).await.map(drop),
        ),
        (
            "set origins",
            registry.set_api_key_origins(origins).await.map(drop),
        ),
        (
            "rotate key",
            registry.rotate_api_key(rotate).await.map(drop),
        ),
        (
            "revoke key",
            registry.revoke_api_key(revoke).await.map(drop),
        ),
        (
            "add signing key",
            registry.add_signing_key(add).await.map(drop),
        ),
        (
            "retire signing key",
            registry.retire_signing_key(retire).await.map(drop),
        ),
    ]
}

/// The outcomes of every other rpc of the registry service.
async fn other_rpcs(caller: &Caller, session: &str) -> Vec<(&'static str, Result<(), Status>)> {
    let mut registry = caller.registry();
    let tenant_id = "acme".to_owned();
    let create_tenant = proto::CreateTenantRequest {
        tenant_id: "new".to_owned(),
        ..Default::default()
    };
    let quotas = proto::SetTenantQuotasRequest {
        tenant_id: tenant_id.clone(),
        ..Default::default()
    };
    let rules = proto::SetTokenRulesRequest {
        tenant_id: tenant_id.clone(),
        ..Default::default()
    };
    let search = proto::SetTenantSearchRequest {
        tenant_id: tenant_id.clone(),
        disabled: true,
    };
    let revoke = proto::RevokeTokenRequest {
        tenant_id: tenant_id.clone(),
        token_id: "x".to_owned(),
    };
    let create_agent = proto::CreateAgentRequest {
        tenant_id: tenant_id.clone(),
        agent_id: "mine".to_owned(),
        ..Default::default()
    };
    let token = proto::CreateServiceTokenRequest {
        display_name: "x".to_owned(),
        scopes: vec![proto::Scope::Read.into()],
        ..Default::default()
    };
    let revoke_token = proto::RevokeServiceTokenRequest {
        service_token_id: "0123456789abcdef".to_owned(),
    };
    let link = proto::CreateDashboardLinkRequest {
        tenant_id,
        name: "eve".to_owned(),
        role: DashboardRole::Administrator.into(),
    };
    let end = proto::EndDashboardTokenRequest {
        token: session.to_owned(),
        is_session: true,
    };
    let action = proto::RecordDashboardActionRequest {
        session_token: session.to_owned(),
        action: proto::DashboardAction::Viewed.into(),
        ..Default::default()
    };
    let view = proto::SetDashboardViewRequest {
        session_token: session.to_owned(),
        ..Default::default()
    };
    let tenants = proto::ListTenantsRequest {};
    let tokens = proto::ListServiceTokensRequest {};
    vec![
        (
            "create tenant",
            registry.create_tenant(create_tenant).await.map(drop),
        ),
        (
            "set quotas",
            registry.set_tenant_quotas(quotas).await.map(drop),
        ),
        (
            "list tenants",
            registry.list_tenants(tenants).await.map(drop),
        ),
        (
            "set token rules",
            registry.set_token_rules(rules).await.map(drop),
        ),
        (
            "set search",
            registry.set_tenant_search(search).await.map(drop),
        ),
        (
            "revoke token",
            registry.revoke_token(revoke).await.map(drop),
        ),
        (
            "create agent",
            registry.create_agent(create_agent).await.map(drop),
        ),
        (
            "create service token",
            registry.create_service_token(token).await.map(drop),
        ),
        (
            "revoke service token",
            registry.revoke_service_token(revoke_token).await.map(drop),
        ),
        (
            "list service tokens",
            registry.list_service_tokens(tokens).await.map(drop),
        ),
        (
            "create link",
            registry.create_dashboard_link(link).await.map(drop),
        ),
        (
            "end token",
            registry.end_dashboard_token(end).await.map(drop),
        ),
        (
            "record action",
            registry.record_dashboard_action(action).await.map(drop),
        ),
        (
            "set view",
            registry.set_dashboard_view(view).await.map(drop),
        ),
    ]
}

/// The outcomes of the other services of writer and gateway.
async fn other_services(caller: &Caller) -> Vec<(&'static str, Result<(), Status>)> {
    let own = Agent::new(caller.clone(), "support");
    let key = HistoryKey {
        agent_id: "support".to_owned(),
        history_key_candidates: vec!["k".to_owned()],
        ..Default::default()
    };
    let history = LoadHistoryRequest {
        key: Some(key),
        ..Default::default()
    };
    let stop = own.stop_request("c", "018f0000-0000-7000-8000-000000000000");
    vec![
        (
            "create",
            own.try_create(own.create_request("")).await.map(drop),
        ),
        (
            "append",
            own.try_append(own.append_request("c", vec![user("x")]))
                .await
                .map(drop),
        ),
        ("erase", own.try_erase(own.target("c")).await.map(drop)),
        ("read", own.try_get(own.read_target("c")).await.map(drop)),
        (
            "history",
            caller.history().load_history(history).await.map(drop),
        ),
        ("run", own.try_stop(stop).await.map(drop)),
    ]
}

fn check_all(outcomes: Vec<(&'static str, Result<(), Status>)>, expected: Expected) {
    for (rpc, outcome) in outcomes {
        check_failure(rpc, outcome, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_change_their_tenant_and_leave_an_audit_log() {
    let (stack, operator, _) = setup().await;
    for role in [DashboardRole::Administrator, DashboardRole::Operator] {
        let key = operator.api_key("support").await.id;
        let (browser, caller) = session(&stack, &operator, role).await;
        for (rpc, outcome) in accepted(&caller, ("acme", "support", &key)).await {
            let is_second = role == DashboardRole::Operator && rpc == "add signing key";
            if is_second {
                let exists = (
                    tonic::Code::AlreadyExists,
                    "REGISTRY_ENTRY_EXISTS",
                    "signing_key_id",
                );
                check_failure(rpc, outcome, exists);
            } else {
                outcome.unwrap_or_else(|status| panic!("{rpc}: {status:?}"));
            }
        }
        let log = browser.get("/dashboard/audit").await.text();
        for entry in [
            "agent support: all settings",
            "agent support: context policy",
            "agent support: new API key",
            "agent support: webhook secret",
            "signing key next: added",
            "signing key next: retired",
            &format!("API key {key}: origins"),
            &format!("API key {key}: rotated"),
            &format!("API key {key}: revoked"),
        ] {
            assert!(log.contains(entry), "{entry}: {log}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_sees_no_other_tenant() {
    let (stack, operator, foreign_key) = setup().await;
    let (_, caller) = session(&stack, &operator, DashboardRole::Operator).await;
    let foreign = ("globex", "globex-support", foreign_key.as_str());
    let missing = ("nobody", "nobody", "0123456789abcdef");
    for target in [foreign, missing] {
        for (rpc, outcome) in accepted(&caller, target).await {
            let status = outcome.expect_err(rpc);
            assert_eq!(status.code(), NotFound, "{rpc}: {status:?}");
            assert!(!status.message().contains(target.1), "{rpc}: {status:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lower_roles_change_nothing() {
    let (stack, operator, _) = setup().await;
    let key = operator.api_key("support").await.id;
    for role in [DashboardRole::Viewer, DashboardRole::Support] {
        let (_, caller) = session(&stack, &operator, role).await;
        let outcomes = accepted(&caller, ("acme", "support", &key)).await;
        check_all(outcomes, (PermissionDenied, "MISSING_SCOPE", ""));
    }
}

/// A session makes no credentials that outlive it, but for keys of its own tenant, and is no token of another service.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_no_service_tokens() {
    let (stack, operator, _) = setup().await;
    operator.agent("acme", "sales").await.create("c").await;
    let (browser, caller) = session(&stack, &operator, DashboardRole::Operator).await;
    check_all(other_rpcs(&caller, browser.session_token()).await, NOBODY);
    check_all(other_services(&caller).await, NOBODY);
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_sessions_and_links_change_nothing() {
    let (stack, operator, _) = setup().await;
    let key = operator.api_key("support").await.id;
    let own = ("acme", "support", key.as_str());
    let (browser, caller) = session(&stack, &operator, DashboardRole::Administrator).await;
    assert_eq!(browser.post("/dashboard/sign-out", &[]).await.status, 303);
    eventually("the end of the session at the writer", || async {
        let request = proto::ListAgentsRequest {
            tenant_id: "acme".to_owned(),
        };
        let listed = caller.registry().list_agents(request).await;
        listed.is_err().then_some(())
    })
    .await;
    check_all(accepted(&caller, own).await, NOBODY);
    let link = operator.dashboard_link("acme", DashboardRole::Administrator);
    let link = operator.caller().with_token(&link.await);
    check_all(accepted(&link, own).await, NOBODY);
    // A token of another tenant's key is forged.
    let (other, _) = session(&stack, &operator, DashboardRole::Administrator).await;
    let token = other.session_token();
    let forged = format!("{}{}", &token[..token.len() - 4], "AAAA");
    let forged = operator.caller().with_token(&forged);
    check_all(accepted(&forged, own).await, NOBODY);
}
