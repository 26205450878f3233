//! A token that is bound to a tenant reads and changes only that tenant.

use tests::agent::Agent;
use tests::errors::{Expected, check_failure};
use tests::operator::Operator;
use tests::stack::{Setup, Stack};
use tonic::Code::{NotFound, PermissionDenied};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::Scope;

const NO_TENANT: Expected = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "tenant_id");
const NO_AGENT: Expected = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "agent_id");
const NO_KEY: Expected = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "api_key_id");
const NO_TOKEN: Expected = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "service_token_id");

/// Two tenants, their operator, and an operator that is bound to the first.
async fn setup() -> (Stack, Operator, Operator) {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    operator.agent("globex", "globex-support").await;
    let token = operator.token(&[Scope::Operate], "acme").await;
    let bound = Operator::new(operator.caller().with_token(&token.secret));
    (stack, operator, bound)
}

#[tokio::test(flavor = "multi_thread")]
async fn bound_tokens_read_only_their_tenant() {
    let (_stack, operator, bound) = setup().await;
    let mut registry = bound.registry();
    let listed = registry.list_tenants(proto::ListTenantsRequest {}).await.expect("tenants");
    let tenants = listed.into_inner().tenants;
    assert_eq!(tenants.iter().map(|t| t.tenant_id.as_str()).collect::<Vec<_>>(), ["acme"]);
    for tenant_id in ["globex", "nobody"].map(str::to_owned) {
        let request = proto::ListAgentsRequest { tenant_id };
        check_failure("agents", registry.list_agents(request).await, NO_TENANT);
    }
    for agent_id in ["globex-support", "nobody"].map(str::to_owned) {
        let request = proto::ListApiKeysRequest { agent_id };
        check_failure("keys", registry.list_api_keys(request).await, NO_AGENT);
    }
    let made = bound.token(&[Scope::Append], "").await;
    let unbound = operator.token(&[Scope::Append], "").await;
    let listed = registry
        .list_service_tokens(proto::ListServiceTokensRequest {})
        .await
        .expect("tokens")
        .into_inner()
        .service_tokens;
    assert!(listed.iter().all(|token| token.tenant_id == "acme"), "{listed:?}");
    assert!(listed.iter().any(|token| token.service_token_id == made.id));
    assert!(listed.iter().all(|token| token.service_token_id != unbound.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn bound_tokens_change_only_their_tenant() {
    let (_stack, operator, bound) = setup().await;
    let mut registry = bound.registry();
    let (tenant_id, display_name) = ("new".to_owned(), String::new());
    let request = proto::CreateTenantRequest { tenant_id, display_name };
    let refused = (PermissionDenied, "MISSING_SCOPE", "");
    check_failure("a tenant", registry.create_tenant(request).await, refused);
    for tenant in ["globex", "nobody"] {
        let request = proto::CreateAgentRequest {
            tenant_id: tenant.to_owned(),
            agent_id: "mine".to_owned(),
            ..Default::default()
        };
        check_failure("an agent", registry.create_agent(request).await, NO_TENANT);
        let request = proto::CreateServiceTokenRequest {
            display_name: "x".to_owned(),
            scopes: vec![Scope::Read.into()],
            tenant_id: tenant.to_owned(),
            agent_ids: Vec::new(),
            expires_at: None,
        };
        check_failure("a token", registry.create_service_token(request).await, NO_TENANT);
    }
    let agent_id = "globex-support".to_owned();
    let request = proto::CreateApiKeyRequest { agent_id, ..Default::default() };
    check_failure("a key", registry.create_api_key(request.clone()).await, NO_AGENT);
    let foreign = operator.registry().create_api_key(request).await.expect("a key").into_inner();
    let api_key_id = foreign.api_key.expect("a key").api_key_id;
    let request = proto::RevokeApiKeyRequest { api_key_id };
    check_failure("a key", registry.revoke_api_key(request).await, NO_KEY);
    let service_token_id = operator.token(&[Scope::Read], "globex").await.id;
    let request = proto::RevokeServiceTokenRequest { service_token_id };
    check_failure("a token", registry.revoke_service_token(request).await, NO_TOKEN);
}

/// Also when the request names no tenant, and with all other scopes.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_bound_tokens_are_bound() {
    let (_stack, operator, bound) = setup().await;
    for tenant in ["", "acme"] {
        let made = bound.token(&[Scope::Append, Scope::Read], tenant).await;
        let caller = operator.caller().with_token(&made.secret);
        let (own, foreign) = ("support", "globex-support");
        let own = Agent::new(caller.clone(), own);
        own.try_create(own.create_request("")).await.expect("a conversation");
        let foreign = Agent::new(caller, foreign);
        let refused = foreign.try_create(foreign.create_request("c")).await;
        check_failure("a foreign agent", refused, (NotFound, "AGENT_NOT_FOUND", "agent_id"));
    }
}
