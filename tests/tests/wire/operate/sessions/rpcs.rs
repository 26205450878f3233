//! Every rpc of the registry service, and what its callers get.

use std::time::SystemTime;

use tests::client::Caller;
use tonic::Status;
use uuid::Uuid;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::DashboardRole;
use wire::proto::run::v1::usage_correction::Counts;
use wire::proto::run::v1::{CorrectedMessages, UsageCorrection};

/// The outcomes of rpcs, with their names.
pub(super) type Outcomes = Vec<(&'static str, Result<(), Status>)>;

/// A tenant, its agent and the id of an API key of the agent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) tenant: &'a str,
    pub(super) agent: &'a str,
    pub(super) key: &'a str,
}

/// The outcomes of every rpc that accepts sessions, on a tenant, its agent and its API key.
pub(super) async fn accepted(caller: &Caller, target: Target<'_>) -> Outcomes {
    let reads = reads(caller, target).await.into_iter();
    let agent = agent_changes(caller, target).await;
    let usage = vec![("correct usage", correct_usage(caller, target).await)];
    let key = key_changes(caller, target).await;
    let signing_key = signing_key_changes(caller, target).await;
    reads.chain(agent).chain(usage).chain(key).chain(signing_key).collect()
}

async fn reads(caller: &Caller, target: Target<'_>) -> Outcomes {
    let mut registry = caller.registry();
    let agents = proto::ListAgentsRequest { tenant_id: target.tenant.to_owned() };
    let keys = proto::ListApiKeysRequest { agent_id: target.agent.to_owned() };
    let signing_keys = proto::ListSigningKeysRequest { tenant_id: target.tenant.to_owned() };
    let policy = proto::GetContextPolicyRequest { agent_id: target.agent.to_owned(), ..Default::default() };
    let signing_keys = registry.list_signing_keys(signing_keys).await;
    vec![
        ("list agents", registry.list_agents(agents).await.map(drop)),
        ("list keys", registry.list_api_keys(keys).await.map(drop)),
        ("list signing keys", signing_keys.map(drop)),
        ("get policy", registry.get_context_policy(policy).await.map(drop)),
    ]
}

async fn agent_changes(caller: &Caller, target: Target<'_>) -> Outcomes {
    let mut registry = caller.registry();
    let agent_id = target.agent.to_owned();
    let settings = proto::SetAgentSettingsRequest { agent_id: agent_id.clone(), ..Default::default() };
    let policy = proto::SetContextPolicyRequest { agent_id: agent_id.clone(), policy_json: "{}".to_owned() };
    let secret = proto::RotateWebhookSecretRequest { agent_id, overlap_seconds: 0 };
    let secret = registry.rotate_webhook_secret(secret).await;
    vec![
        ("set settings", registry.set_agent_settings(settings).await.map(drop)),
        ("set policy", registry.set_context_policy(policy).await.map(drop)),
        ("rotate secret", secret.map(drop)),
    ]
}

async fn correct_usage(caller: &Caller, target: Target<'_>) -> Result<(), Status> {
    caller.registry().correct_usage(correction(target)).await.map(drop)
}

/// A correction of the recorded messages of an agent.
pub(super) fn correction(target: Target<'_>) -> proto::CorrectUsageRequest {
    let correction = UsageCorrection {
        correction_id: Uuid::now_v7().to_string(),
        agent_id: target.agent.to_owned(),
        day: Some(SystemTime::now().into()),
        counts: Some(Counts::Messages(CorrectedMessages::default())),
        input_tokens: -7,
        ..Default::default()
    };
    proto::CorrectUsageRequest { correction: Some(correction), reason: "a wrong proxy".to_owned() }
}

async fn key_changes(caller: &Caller, target: Target<'_>) -> Outcomes {
    let mut registry = caller.registry();
    let api_key_id = target.key.to_owned();
    let create = proto::CreateApiKeyRequest { agent_id: target.agent.to_owned(), ..Default::default() };
    let origins =
        proto::SetApiKeyOriginsRequest { api_key_id: api_key_id.clone(), allowed_origins: vec!["*".to_owned()] };
    let rotate = proto::RotateApiKeyRequest { api_key_id: api_key_id.clone(), overlap_seconds: 60, expires_at: None };
    let revoke = proto::RevokeApiKeyRequest { api_key_id };
    vec![
        ("create key", registry.create_api_key(create).await.map(drop)),
        ("set origins", registry.set_api_key_origins(origins).await.map(drop)),
        ("rotate key", registry.rotate_api_key(rotate).await.map(drop)),
        ("revoke key", registry.revoke_api_key(revoke).await.map(drop)),
    ]
}

async fn signing_key_changes(caller: &Caller, target: Target<'_>) -> Outcomes {
    let mut registry = caller.registry();
    let add = proto::AddSigningKeyRequest {
        tenant_id: target.tenant.to_owned(),
        signing_key_id: "next".to_owned(),
        r#use: proto::SigningKeyUse::User.into(),
        ..Default::default()
    };
    let retire = proto::RetireSigningKeyRequest {
        tenant_id: target.tenant.to_owned(),
        signing_key_id: "next".to_owned(),
        retired_at: None,
    };
    vec![
        ("add signing key", registry.add_signing_key(add).await.map(drop)),
        ("retire signing key", registry.retire_signing_key(retire).await.map(drop)),
    ]
}

/// The outcomes of every other rpc of the registry service.
pub(super) async fn other_rpcs(caller: &Caller, session: &str) -> Outcomes {
    let tenants = tenant_rpcs(caller).await.into_iter();
    let tokens = token_rpcs(caller).await;
    tenants.chain(tokens).chain(person_rpcs(caller, session).await).collect()
}

async fn tenant_rpcs(caller: &Caller) -> Outcomes {
    let mut registry = caller.registry();
    let tenant_id = "acme".to_owned();
    let create = proto::CreateTenantRequest { tenant_id: "new".to_owned(), ..Default::default() };
    let quotas = proto::SetTenantQuotasRequest { tenant_id: tenant_id.clone(), ..Default::default() };
    let rules = proto::SetTokenRulesRequest { tenant_id: tenant_id.clone(), ..Default::default() };
    let search = proto::SetTenantSearchRequest { tenant_id: tenant_id.clone(), disabled: true };
    let audit = proto::SetTenantAuditRequest { tenant_id: tenant_id.clone(), service_token_reads: Some(false) };
    let reads = proto::RecordReadsRequest { tenant_id: tenant_id.clone(), ..Default::default() };
    let agent = proto::CreateAgentRequest { tenant_id, agent_id: "mine".to_owned(), ..Default::default() };
    let list = proto::ListTenantsRequest {};
    vec![
        ("create tenant", registry.create_tenant(create).await.map(drop)),
        ("set quotas", registry.set_tenant_quotas(quotas).await.map(drop)),
        ("list tenants", registry.list_tenants(list).await.map(drop)),
        ("set token rules", registry.set_token_rules(rules).await.map(drop)),
        ("set search", registry.set_tenant_search(search).await.map(drop)),
        ("set audit", registry.set_tenant_audit(audit).await.map(drop)),
        ("record reads", registry.record_reads(reads).await.map(drop)),
        ("create agent", registry.create_agent(agent).await.map(drop)),
    ]
}

async fn token_rpcs(caller: &Caller) -> Outcomes {
    let mut registry = caller.registry();
    let create = proto::CreateServiceTokenRequest {
        display_name: "x".to_owned(),
        scopes: vec![proto::Scope::Read.into()],
        ..Default::default()
    };
    let revoke = proto::RevokeServiceTokenRequest { service_token_id: "0123456789abcdef".to_owned() };
    let tenant_id = "acme".to_owned();
    let revoke_token =
        proto::RevokeTokenRequest { tenant_id: tenant_id.clone(), token_id: "x".to_owned(), ..Default::default() };
    let revoke_session = proto::RevokeSessionRequest { tenant_id, session_id: "issued:x".to_owned() };
    let list = proto::ListServiceTokensRequest {};
    let revoked = registry.revoke_service_token(revoke).await;
    let listed = registry.list_service_tokens(list).await;
    vec![
        ("create token", registry.create_service_token(create).await.map(drop)),
        ("revoke service token", revoked.map(drop)),
        ("list service tokens", listed.map(drop)),
        ("revoke token", registry.revoke_token(revoke_token).await.map(drop)),
        ("revoke session", registry.revoke_session(revoke_session).await.map(drop)),
        ("record key uses", registry.record_key_uses(proto::RecordKeyUsesRequest::default()).await.map(drop)),
    ]
}

async fn person_rpcs(caller: &Caller, session: &str) -> Outcomes {
    let mut registry = caller.registry();
    let link = proto::CreateDashboardLinkRequest {
        tenant_id: "acme".to_owned(),
        name: "eve".to_owned(),
        role: DashboardRole::Administrator.into(),
    };
    let end = proto::EndDashboardTokenRequest { token: session.to_owned(), is_session: true };
    let action = proto::RecordDashboardActionRequest {
        session_token: session.to_owned(),
        action: proto::DashboardAction::Viewed.into(),
        ..Default::default()
    };
    let view = proto::SetDashboardViewRequest { session_token: session.to_owned(), ..Default::default() };
    let link = registry.create_dashboard_link(link).await;
    let action = registry.record_dashboard_action(action).await;
    vec![
        ("create link", link.map(drop)),
        ("record action", action.map(drop)),
        ("end token", registry.end_dashboard_token(end).await.map(drop)),
        ("set view", registry.set_dashboard_view(view).await.map(drop)),
    ]
}
