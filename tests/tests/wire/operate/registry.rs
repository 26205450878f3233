//! The registry: what is made is listed, ids are unique, secrets are shown once, and fields keep their rules.

use tests::errors::{Expected, check_failure};
use tests::stack::Setup;
use tonic::{Code, Status};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::Scope;

fn tenant(tenant_id: &str, display_name: &str) -> proto::CreateTenantRequest {
    let (tenant_id, display_name) = (tenant_id.to_owned(), display_name.to_owned());
    proto::CreateTenantRequest {
        tenant_id,
        display_name,
    }
}

fn agent(tenant_id: &str, agent_id: &str) -> proto::CreateAgentRequest {
    proto::CreateAgentRequest {
        tenant_id: tenant_id.to_owned(),
        agent_id: agent_id.to_owned(),
        display_name: "An agent".to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_made_is_listed_by_id_and_survives_a_restart() {
    let mut stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let mut registry = operator.registry();
    for id in ["zeta", "acme"] {
        let made = registry
            .create_tenant(tenant(id, "A tenant"))
            .await
            .expect("a tenant");
        let made = made.into_inner().tenant.expect("a tenant");
        assert_eq!(
            (made.tenant_id.as_str(), made.display_name.as_str()),
            (id, "A tenant")
        );
        assert!(made.created_at.is_some());
    }
    for id in ["b", "a"] {
        registry
            .create_agent(agent("acme", id))
            .await
            .expect("an agent");
    }
    let key = proto::CreateApiKeyRequest {
        agent_id: "a".to_owned(),
        ..Default::default()
    };
    let key = registry
        .create_api_key(key)
        .await
        .expect("a key")
        .into_inner();
    assert!(key.secret.len() >= 32);
    let shown = key.api_key.expect("a key");
    assert_eq!(
        (shown.agent_id.as_str(), shown.tenant_id.as_str()),
        ("a", "acme")
    );
    assert!(shown.key_sha256.is_empty() && shown.revoked_at.is_none());
    stack.writer.stop().await;
    stack.writer.start().await;
    let tenants = registry
        .list_tenants(proto::ListTenantsRequest {})
        .await
        .expect("tenants");
    let ids: Vec<String> = tenants
        .into_inner()
        .tenants
        .into_iter()
        .map(|t| t.tenant_id)
        .collect();
    assert_eq!(ids, ["acme", "zeta"]);
    let agents = proto::ListAgentsRequest {
        tenant_id: "acme".to_owned(),
    };
    let agents = registry
        .list_agents(agents)
        .await
        .expect("agents")
        .into_inner()
        .agents;
    assert_eq!(
        agents
            .iter()
            .map(|a| a.agent_id.as_str())
            .collect::<Vec<_>>(),
        ["a", "b"]
    );
    let revoke = proto::RevokeApiKeyRequest {
        api_key_id: shown.api_key_id.clone(),
    };
    let revoked = registry
        .revoke_api_key(revoke)
        .await
        .expect("a revoked key")
        .into_inner();
    assert!(revoked.api_key.expect("a key").revoked_at.is_some());
    let keys = proto::ListApiKeysRequest {
        agent_id: "a".to_owned(),
    };
    let keys = registry
        .list_api_keys(keys)
        .await
        .expect("keys")
        .into_inner()
        .api_keys;
    assert_eq!(keys.len(), 1);
    assert!(keys[0].revoked_at.is_some() && keys[0].key_sha256.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_shown_once_and_differ() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let (one, two) = (
        operator.token(&[Scope::Read], "").await,
        operator.token(&[Scope::Read], "").await,
    );
    assert_ne!(one.secret, two.secret);
    let listed = operator
        .registry()
        .list_service_tokens(proto::ListServiceTokensRequest {})
        .await;
    let listed = format!("{:?}", listed.expect("tokens").into_inner());
    for token in [&one, &two] {
        assert!(listed.contains(&token.id));
        assert!(!listed.contains(&token.secret));
    }
}

async fn check<T: std::fmt::Debug>(
    case: &str,
    outcome: impl Future<Output = Result<T, Status>>,
    expected: Expected,
) {
    check_failure(case, outcome.await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_are_taken_missing_or_out_of_form() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    operator.tenant("globex").await;
    let registry = || operator.registry();
    let invalid = |reason, field| (Code::InvalidArgument, reason, field);
    let taken = |field| (Code::AlreadyExists, "REGISTRY_ENTRY_EXISTS", field);
    let missing = |field| (Code::NotFound, "REGISTRY_ENTRY_NOT_FOUND", field);
    let tenants = [
        ("taken", tenant("acme", ""), taken("tenant_id")),
        (
            "empty",
            tenant("", ""),
            invalid("FIELD_MISSING", "tenant_id"),
        ),
        (
            "a dot",
            tenant("a.b", ""),
            invalid("FIELD_MALFORMED", "tenant_id"),
        ),
        (
            "65",
            tenant(&"a".repeat(65), ""),
            invalid("FIELD_TOO_LONG", "tenant_id"),
        ),
        (
            "a long name",
            tenant("x", &"n".repeat(257)),
            invalid("FIELD_TOO_LONG", "display_name"),
        ),
        (
            "U+0000",
            tenant("x", "\0"),
            invalid("NUL_CHARACTER", "display_name"),
        ),
    ];
    for (case, request, expected) in tenants {
        check(case, registry().create_tenant(request), expected).await;
    }
    registry()
        .create_tenant(tenant(&"a".repeat(64), &"n".repeat(256)))
        .await
        .expect("at the bounds");
    let agents = [
        ("taken", agent("acme", "support"), taken("agent_id")),
        (
            "taken by another tenant",
            agent("globex", "support"),
            taken("agent_id"),
        ),
        ("no such tenant", agent("nobody", "x"), missing("tenant_id")),
        (
            "no tenant",
            agent("", "x"),
            invalid("FIELD_MISSING", "tenant_id"),
        ),
        (
            "no agent",
            agent("acme", ""),
            invalid("FIELD_MISSING", "agent_id"),
        ),
        (
            "65",
            agent("acme", &"a".repeat(65)),
            invalid("FIELD_TOO_LONG", "agent_id"),
        ),
        (
            "a slash",
            agent("acme", "a/b"),
            invalid("FIELD_MALFORMED", "agent_id"),
        ),
    ];
    for (case, request, expected) in agents {
        check(case, registry().create_agent(request), expected).await;
    }
    registry()
        .create_agent(agent("acme", &"a".repeat(64)))
        .await
        .expect("at the bound");
    let key = proto::CreateApiKeyRequest {
        agent_id: "nobody".to_owned(),
        ..Default::default()
    };
    check(
        "a key of nobody's",
        registry().create_api_key(key),
        missing("agent_id"),
    )
    .await;
    let key = proto::RevokeApiKeyRequest {
        api_key_id: "0".repeat(16),
    };
    check(
        "no such key",
        registry().revoke_api_key(key),
        missing("api_key_id"),
    )
    .await;
    let token = proto::RevokeServiceTokenRequest {
        service_token_id: String::new(),
    };
    let expected = missing("service_token_id");
    check(
        "no such token",
        registry().revoke_service_token(token),
        expected,
    )
    .await;
}
