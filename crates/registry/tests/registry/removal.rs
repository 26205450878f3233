//! The removal of a tenant.

use devstack::NatsServer;
use devstack::test::files_with;
use domain::Timestamp;
use event_log::Record;
use registry::{KeyPurpose, NewSigningKey, Registry, Scope};
use wire::proto::operate::v1::SigningKeyUse;

use crate::support::{NOW, agent, config_of_one, name, tenant, token, two, until};

#[tokio::test]
async fn a_removed_tenant_has_no_entries_and_no_access() {
    let server = devstack::test::nats().await;
    let (first, second) = two(&server).await;
    let signing = NewSigningKey {
        tenant: tenant("acme"),
        id: domain::SigningKeyId::parse("main").unwrap(),
        key_use: SigningKeyUse::User,
        material: None,
        expires_at: None,
    };
    let (_, secret) = first.add_signing_key(signing, NOW).await.unwrap();
    let secret = secret.unwrap().reveal().to_owned();
    let bound = token("bound", &[Scope::Append], Some("acme"));
    let (_, bound) = first.create_service_token(bound, NOW).await.unwrap();
    let free = token("free", &[Scope::Append], None);
    let (_, free) = first.create_service_token(free, NOW).await.unwrap();
    assert!(second.authenticate(bound.reveal(), NOW).await.is_some());
    assert_eq!(files_with(server.folder(), secret.as_bytes()).len(), 1);

    let expected = [("agent", 1), ("secret", 1), ("signing", 1), ("tenant", 1), ("token", 1)]
        .map(|(kind, count)| (kind.to_owned(), count))
        .into();
    let acme = tenant("acme");
    assert_eq!(first.count_tenant_entries(&acme).await, Ok(expected));
    assert_eq!(first.has_or_had_tenant(&acme).await, Ok(true));
    assert_eq!(first.has_or_had_tenant(&tenant("nobody")).await, Ok(false));
    let removed = first.remove_tenant(&acme).await.unwrap();
    assert_eq!(removed.values().sum::<u64>(), 5);
    assert_eq!(files_with(server.folder(), secret.as_bytes()).len(), 0);
    for registry in [&first, &second] {
        until("the end of the tenant", || async { registry.tenant(&acme).is_none() }).await;
        assert_eq!(registry.authenticate(bound.reveal(), NOW).await, None);
        assert_eq!(registry.list_agents(&acme), []);
        assert_eq!(registry.list_signing_keys(&acme), []);
        let others = registry.authenticate(free.reveal(), NOW).await.unwrap();
        assert!(registry.authorize(&others, Scope::Append, &agent("bot")).await.is_err());
        assert!(registry.tenant(&tenant("other")).is_some());
    }
    let key = |registry: &Registry| registry.tenant_key(&acme, KeyPurpose::Session);
    assert_eq!(key(&first), None);
    until("the end of the secret", || async { key(&second).is_none() }).await;
    assert_eq!(first.remove_tenant(&acme).await.unwrap().len(), 0);
    assert_eq!(first.has_or_had_tenant(&acme).await, Ok(true));
    check_created_again(&first, &server).await;
}

/// A tenant that is created again after its removal exists, also for later processes.
async fn check_created_again(registry: &Registry, server: &NatsServer) {
    let later = Timestamp(NOW.0 + 1);
    registry.create_tenant(&tenant("acme"), &name("again"), later).await.unwrap();
    let record = Record::open(config_of_one(server)).await.unwrap();
    let third = Registry::open(&record).await.unwrap();
    assert_eq!(third.tenant(&tenant("acme")).unwrap().display_name, "again");
    assert_eq!(third.list_agents(&tenant("acme")), []);
}
