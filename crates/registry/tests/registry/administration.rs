//! Registry changes by two processes.

use domain::Timestamp;
use registry::{AllowedOrigins, Registry, RegistryError, Scope};

use crate::support::{NOW, agent, name, principal, tenant, token, two, until};

const LATER: Timestamp = Timestamp(1_790_000_001_000_000_000);

#[tokio::test]
async fn ids_are_unique_across_processes_and_tenants() {
    let server = devstack::test::nats().await;
    let (first, second) = two(&server).await;
    let taken = |what| Err(RegistryError::AlreadyExists { what });
    let again = second.create_tenant(&tenant("acme"), &name(""), NOW).await;
    assert_eq!(again, taken("tenant"));
    for owner in ["acme", "other"] {
        let again = second.create_agent(&tenant(owner), &agent("bot"), &name(""), NOW).await;
        assert_eq!(again.map(drop), taken("agent").map(drop));
    }
    let orphan = first.create_agent(&tenant("missing"), &agent("x"), &name(""), NOW).await;
    assert_eq!(orphan, Err(RegistryError::NotFound { what: "tenant" }));
    let orphan = first.create_service_token(token("x", &[], Some("missing")), NOW).await;
    let actual = orphan.map(drop);
    assert_eq!(actual, Err(RegistryError::NotFound { what: "tenant" }));
    let (raced, names) = (tenant("raced"), ["one", "other"].map(name));
    let (one, other) =
        tokio::join!(first.create_tenant(&raced, &names[0], NOW), second.create_tenant(&raced, &names[1], NOW));
    assert!(one.is_ok() != other.is_ok(), "{one:?} {other:?}");
    // Known in the other process before the change can have arrived.
    first.create_agent(&tenant("acme"), &agent("new"), &name(""), NOW).await.unwrap();
    let (caller, secret, _) = principal(&first, token("t", &[Scope::Read], None)).await;
    assert!(second.authenticate(secret.reveal(), NOW).await.is_some());
    assert!(second.authorize(&caller, Scope::Read, &agent("new")).await.is_ok());
    let names = |registry: &Registry| -> Vec<String> {
        registry.list_agents(&tenant("acme")).into_iter().map(|agent| agent.agent_id).collect()
    };
    assert_eq!(names(&first), ["bot", "new"]);
    until("the agent", || async { names(&second) == names(&first) }).await;
    until("the tenant", || async { second.list_tenants() == first.list_tenants() }).await;
}

#[tokio::test]
async fn api_keys_of_an_agent_are_created_and_revoked() {
    let server = devstack::test::nats().await;
    let (first, second) = two(&server).await;
    let (key, secret) =
        first.create_api_key(&agent("bot"), &name("web"), AllowedOrigins::default(), None, NOW).await.unwrap();
    assert!(secret.reveal().starts_with("hp_"));
    assert_eq!((key.tenant_id.as_str(), key.key_sha256.len()), ("acme", 0));
    let actual = first.authenticate(secret.reveal(), NOW).await;
    assert_eq!(actual, None, "not a service token");
    let orphan = first.create_api_key(&agent("missing"), &name(""), AllowedOrigins::default(), None, NOW).await;
    let actual = orphan.map(drop);
    assert_eq!(actual, Err(RegistryError::NotFound { what: "agent" }));

    until("the key", || async { second.api_key(&key.api_key_id).is_some() }).await;
    let ended = second.revoke_api_key(&key.api_key_id, LATER).await.unwrap();
    assert!(ended.revoked_at.is_some());
    // A process without the change reads it on its own attempt.
    assert_eq!(first.revoke_api_key(&key.api_key_id, NOW).await, Ok(ended.clone()));
    assert_eq!(first.list_api_keys(&agent("bot")), [ended]);
    assert!(first.list_api_keys(&agent("their-bot")).is_empty());
}
