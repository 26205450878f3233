//! The registry: listings, unique ids, secrets that are shown once, and field rules.

use tests::errors::{Expected, check_failure};
use tests::operator::Operator;
use tests::stack::{Setup, Stack};
use tonic::Code::{AlreadyExists, InvalidArgument, NotFound};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::Scope;

fn tenant(tenant_id: &str, display_name: &str) -> proto::CreateTenantRequest {
    let (tenant_id, display_name) = (tenant_id.to_owned(), display_name.to_owned());
    proto::CreateTenantRequest { tenant_id, display_name }
}

fn agent(tenant_id: &str, agent_id: &str) -> proto::CreateAgentRequest {
    let (tenant_id, agent_id) = (tenant_id.to_owned(), agent_id.to_owned());
    let display_name = "An agent".to_owned();
    proto::CreateAgentRequest { tenant_id, agent_id, display_name }
}

async fn tenants(operator: &Operator) -> Vec<(String, String)> {
    let listed =
        operator.registry().list_tenants(proto::ListTenantsRequest {}).await.expect("tenants").into_inner().tenants;
    assert!(listed.iter().all(|tenant| tenant.created_at.is_some()));
    listed.into_iter().map(|tenant| (tenant.tenant_id, tenant.display_name)).collect()
}

async fn agents(operator: &Operator, tenant_id: &str) -> Vec<String> {
    let request = proto::ListAgentsRequest { tenant_id: tenant_id.to_owned() };
    let listed = operator.registry().list_agents(request).await.expect("agents").into_inner().agents;
    assert!(listed.iter().all(|agent| agent.tenant_id == tenant_id));
    listed.into_iter().map(|agent| agent.agent_id).collect()
}

async fn keys(operator: &Operator, agent_id: &str) -> Vec<proto::ApiKey> {
    let request = proto::ListApiKeysRequest { agent_id: agent_id.to_owned() };
    let listed = operator.registry().list_api_keys(request).await;
    listed.expect("keys").into_inner().api_keys
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_and_agents_are_listed_by_id_and_survive_a_restart() {
    let mut stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let mut registry = operator.registry();
    for id in ["zeta", "acme"] {
        registry.create_tenant(tenant(id, "A tenant")).await.expect("a tenant");
    }
    for (tenant, id) in [("acme", "b"), ("acme", "a"), ("zeta", "c")] {
        registry.create_agent(agent(tenant, id)).await.expect("an agent");
    }
    for restarted in [false, true] {
        if restarted {
            stack.writer.stop().await;
            stack.writer.start().await;
        }
        let named = |id: &str| (id.to_owned(), "A tenant".to_owned());
        assert_eq!(tenants(&operator).await, [named("acme"), named("zeta")]);
        assert_eq!(agents(&operator, "acme").await, ["a", "b"]);
        assert_eq!(agents(&operator, "zeta").await, ["c"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_shown_once_and_end_on_revocation() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    let request = proto::CreateApiKeyRequest {
        agent_id: "support".to_owned(),
        display_name: "the site".to_owned(),
        ..proto::CreateApiKeyRequest::default()
    };
    let made = operator.registry().create_api_key(request).await.expect("a key").into_inner();
    assert!(made.secret.len() >= 32);
    let shown = made.api_key.expect("a key");
    assert_eq!((shown.agent_id.as_str(), shown.tenant_id.as_str()), ("support", "acme"));
    assert_eq!((shown.api_key_id.len(), shown.display_name.as_str()), (16, "the site"));
    assert!(shown.key_sha256.is_empty() && shown.revoked_at.is_none());
    assert_eq!(keys(&operator, "support").await, std::slice::from_ref(&shown));
    let api_key_id = shown.api_key_id.clone();
    let revoke = proto::RevokeApiKeyRequest { api_key_id };
    let revoked =
        operator.registry().revoke_api_key(revoke).await.expect("revoked").into_inner().api_key.expect("a key");
    assert!(revoked.revoked_at.is_some());
    assert_eq!(keys(&operator, "support").await, std::slice::from_ref(&revoked));
    assert_eq!(proto::ApiKey { revoked_at: None, ..revoked }, shown);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_of_tokens_are_never_listed() {
    let stack = Stack::shared().await;
    let operator = stack.operator().await;
    let one = operator.token(&[Scope::Read], "").await;
    let two = operator.token(&[Scope::Read], "").await;
    assert_ne!(one.secret, two.secret);
    let listed = operator.registry().list_service_tokens(proto::ListServiceTokensRequest {}).await;
    let listed = format!("{:?}", listed.expect("tokens").into_inner());
    for token in [&one, &two] {
        assert!(listed.contains(&token.id));
        assert!(!listed.contains(&token.secret));
    }
}

fn invalid(reason: &'static str, field: &'static str) -> Expected {
    (InvalidArgument, reason, field)
}

const TENANT_TAKEN: Expected = (AlreadyExists, "REGISTRY_ENTRY_EXISTS", "tenant_id");
const AGENT_TAKEN: Expected = (AlreadyExists, "REGISTRY_ENTRY_EXISTS", "agent_id");
const NO_TENANT: Expected = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "tenant_id");
const NO_AGENT: Expected = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "agent_id");
const NO_KEY: Expected = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "api_key_id");
const NO_TOKEN: Expected = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "service_token_id");

#[tokio::test(flavor = "multi_thread")]
async fn invalid_tenants_and_agents() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    operator.tenant("globex").await;
    let mut registry = operator.registry();
    let long = "a".repeat(65);
    for (request, expected) in [
        (tenant("acme", ""), TENANT_TAKEN),
        (tenant("", ""), invalid("FIELD_MISSING", "tenant_id")),
        (tenant("a.b", ""), invalid("FIELD_MALFORMED", "tenant_id")),
        (tenant(&long, ""), invalid("FIELD_TOO_LONG", "tenant_id")),
        (tenant("x", &"n".repeat(257)), invalid("FIELD_TOO_LONG", "display_name")),
        (tenant("x", "\0"), invalid("NUL_CHARACTER", "display_name")),
        (tenant("x", "K\u{1b}[2J"), invalid("FIELD_MALFORMED", "display_name")),
        (tenant("x", "\u{202e}emca"), invalid("FIELD_MALFORMED", "display_name")),
    ] {
        check_failure("a tenant", registry.create_tenant(request).await, expected);
    }
    let at_the_bounds = tenant(&"a".repeat(64), &"n".repeat(256));
    registry.create_tenant(at_the_bounds).await.expect("a tenant");
    for (request, expected) in [
        (agent("acme", "support"), AGENT_TAKEN),
        (agent("globex", "support"), AGENT_TAKEN),
        (agent("nobody", "x"), NO_TENANT),
        (agent("", "x"), invalid("FIELD_MISSING", "tenant_id")),
        (agent("acme", ""), invalid("FIELD_MISSING", "agent_id")),
        (agent("acme", &long), invalid("FIELD_TOO_LONG", "agent_id")),
        (agent("acme", "a/b"), invalid("FIELD_MALFORMED", "agent_id")),
    ] {
        check_failure("an agent", registry.create_agent(request).await, expected);
    }
    let at_the_bound = agent("acme", &"a".repeat(64));
    registry.create_agent(at_the_bound).await.expect("an agent");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_entries() {
    let stack = Stack::shared().await;
    let operator = stack.operator().await;
    let mut registry = operator.registry();
    let (tenant_id, agent_id) = ("nobody".to_owned(), "nobody".to_owned());
    let request = proto::ListAgentsRequest { tenant_id };
    check_failure("agents", registry.list_agents(request).await, NO_TENANT);
    let request = proto::ListApiKeysRequest { agent_id: agent_id.clone() };
    check_failure("keys", registry.list_api_keys(request).await, NO_AGENT);
    let request =
        proto::CreateApiKeyRequest { agent_id, display_name: String::new(), ..proto::CreateApiKeyRequest::default() };
    check_failure("a key", registry.create_api_key(request).await, NO_AGENT);
    for id in ["0".repeat(16), String::new(), "*".to_owned(), "\0".to_owned()] {
        let request = proto::RevokeApiKeyRequest { api_key_id: id.clone() };
        check_failure("a key", registry.revoke_api_key(request).await, NO_KEY);
        let request = proto::RevokeServiceTokenRequest { service_token_id: id };
        check_failure("a token", registry.revoke_service_token(request).await, NO_TOKEN);
    }
}
