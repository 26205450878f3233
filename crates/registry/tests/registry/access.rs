//! The registry in two processes.

use domain::Timestamp;
use registry::{AccessError, NewServiceToken, Principal, RegistryError, Scope, Scopes};

use crate::support::{NOW, agent, filled, name, principal, record_of_one, tenant, token, two, until};

const LATER: Timestamp = Timestamp(1_790_000_001_000_000_000);

#[tokio::test]
async fn only_valid_tokens_authenticate() {
    let server = devstack::test::nats().await;
    let (first, second) = two(&server).await;
    let (caller, secret, _) = principal(&first, token("importer", &[Scope::Append], None)).await;
    assert_eq!(caller.actor.0.as_str(), "importer");
    assert_eq!(caller.tenant, None);
    assert!(caller.scopes.contains(Scope::Append) && !caller.scopes.contains(Scope::Read));
    assert!(secret.reveal().starts_with("hsk_"));
    // Another process looks it up at once.
    assert_eq!(second.authenticate(secret.reveal(), NOW).await, Some(caller));
    let longer = format!("{}x", secret.reveal());
    for bearer in ["", "hs_", "hs_unknown", "hsk_", "hsk_unknown", "hp_unknown", &secret.reveal()[3..], &longer] {
        assert_eq!(first.authenticate(bearer, NOW).await, None, "{bearer}");
    }
}

#[tokio::test]
async fn a_revoked_token_is_rejected_everywhere() {
    let server = devstack::test::nats().await;
    let (first, second) = two(&server).await;
    let (_, secret, id) = principal(&first, token("a", &[Scope::Read], None)).await;
    let (_, other, _) = principal(&first, token("b", &[Scope::Read], None)).await;
    assert!(second.authenticate(secret.reveal(), NOW).await.is_some());

    let ended = first.revoke_service_token(&id, LATER).await.unwrap();
    assert_eq!(ended.revoked_at.map(|at| at.seconds), Some(LATER.seconds()));
    assert_eq!(first.authenticate(secret.reveal(), NOW).await, None);
    let gone = || async { second.authenticate(secret.reveal(), NOW).await.is_none() };
    until("the revocation", gone).await;
    assert!(second.authenticate(other.reveal(), NOW).await.is_some());
    // A second revocation keeps the time.
    let again = second.revoke_service_token(&id, Timestamp(0)).await;
    assert_eq!(again, Ok(ended));
    let unknown = first.revoke_service_token("0000000000000000", NOW).await;
    let what = "service token";
    assert_eq!(unknown, Err(RegistryError::NotFound { what }));
    assert_eq!(first.list_service_tokens().len(), 2);
}

#[tokio::test]
async fn only_tokens_without_a_tenant_may_sweep() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let registry = filled(&record).await;
    let (append, read) = ([Scope::Append], [Scope::Read, Scope::Operate]);
    let cases = [
        (token("free", &append, None), Ok(())),
        (token("bound", &append, Some("acme")), Err(AccessError::UnknownTenant)),
        (token("reader", &read, None), Err(AccessError::MissingScope(Scope::Append))),
    ];
    for (token, expected) in cases {
        let (caller, ..) = principal(&registry, token).await;
        let sweep = registry.authorize_sweep(&caller);
        assert_eq!(sweep.map(|_| ()), expected, "{caller:?}");
    }
}

#[tokio::test]
async fn missing_and_foreign_entries_get_the_same_error() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let registry = filled(&record).await;
    let scopes = [Scope::Append, Scope::Read];
    let (free, ..) = principal(&registry, token("free", &scopes, None)).await;
    let (bound, ..) = principal(&registry, token("bound", &scopes, Some("acme"))).await;
    let check = async |caller: &Principal, scope, id: &str, expected: Result<&str, AccessError>| {
        let access = registry.authorize(caller, scope, &agent(id)).await;
        let tenant = access.as_ref().map(|access| access.tenant.tenant().as_str());
        assert_eq!(tenant.map_err(|error| *error), expected, "{id}");
    };
    check(&free, Scope::Append, "bot", Ok("acme")).await;
    check(&free, Scope::Read, "their-bot", Ok("other")).await;
    let unknown = Err(AccessError::UnknownAgent);
    check(&free, Scope::Read, "missing", unknown).await;
    check(&bound, Scope::Append, "bot", Ok("acme")).await;
    check(&bound, Scope::Append, "their-bot", unknown).await;
    check(&bound, Scope::Append, "missing", unknown).await;
    let lacking = Err(AccessError::MissingScope(Scope::Operate));
    check(&bound, Scope::Operate, "their-bot", lacking).await;
    assert!(bound.sees(&tenant("acme")) && !bound.sees(&tenant("other")) && free.sees(&tenant("x")));
}

#[tokio::test]
async fn a_token_of_agents_acts_for_no_other() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let registry = filled(&record).await;
    let acme = tenant("acme");
    registry.create_agent(&acme, &agent("second"), &name("A second bot"), NOW).await.unwrap();
    let of = |agents: &[&str], bound_to| NewServiceToken {
        agents: agents.iter().map(|id| agent(id)).collect(),
        expires_at: None,
        ..token("key", &[Scope::Append, Scope::Read], bound_to)
    };
    let (one, secret, id) = principal(&registry, of(&["bot"], None)).await;
    let (both, ..) = principal(&registry, of(&["bot", "second"], Some("acme"))).await;
    assert_eq!((&one.tenant, &*one.token_id), (&Some(acme), id.as_str()));
    assert_eq!(one.only_agent(), Some(&agent("bot")));
    assert_eq!(both.only_agent(), None);
    for (caller, id, expected) in [
        (&one, "bot", true),
        (&one, "second", false),
        (&one, "their-bot", false),
        (&one, "missing", false),
        (&both, "bot", true),
        (&both, "second", true),
        (&both, "their-bot", false),
    ] {
        let access = registry.authorize(caller, Scope::Read, &agent(id)).await;
        let error = access.map(|_| ()).err();
        let foreign = Some(AccessError::UnknownAgent).filter(|_| !expected);
        assert_eq!(error, foreign, "{id}");
        let visible = registry.visible_agent(caller, &agent(id)).await;
        assert_eq!(visible.is_some(), expected, "{id}");
    }
    assert_eq!(one.require_whole_tenant(), Err(AccessError::BoundToAgents));
    let what = RegistryError::NotFound { what: "agent" };
    for (agents, bound_to) in [(&["missing"][..], None), (&["bot", "their-bot"], None), (&["bot"], Some("other"))] {
        let refused = registry.create_service_token(of(agents, bound_to), NOW);
        assert_eq!(refused.await.err(), Some(what.clone()), "{agents:?}");
    }
    registry.revoke_service_token(&id, NOW).await.unwrap();
    assert_eq!(registry.authenticate(secret.reveal(), NOW).await, None);
}

#[tokio::test]
async fn it_answers_from_memory_while_the_server_is_down() {
    let mut server = devstack::test::nats().await;
    let (first, second) = two(&server).await;
    let (caller, secret, id) = principal(&first, token("t", &[Scope::Read], None)).await;
    until("the token", || async { second.service_token(&id).is_some() }).await;
    assert!(first.is_fresh() && second.is_fresh());
    server.kill();
    until("the loss", || async { !second.is_fresh() }).await;
    let actual = second.authenticate(secret.reveal(), NOW).await;
    assert_eq!(actual, Some(caller.clone()));
    assert!(second.authorize(&caller, Scope::Read, &agent("bot")).await.is_ok());
    let change = first.create_tenant(&tenant("late"), &name(""), NOW).await;
    assert!(matches!(change, Err(RegistryError::Unavailable(_))), "{change:?}");
    server.restart().await.unwrap();
    until("the server", || async { second.is_fresh() }).await;
    until("the change", || async { first.revoke_service_token(&id, NOW).await.is_ok() }).await;
    until("the revocation", || async { second.authenticate(secret.reveal(), NOW).await.is_none() }).await;
}

#[test]
fn scopes_are_a_set() {
    let scopes: Scopes = [Scope::Read, Scope::Read].into_iter().collect();
    assert!(scopes.contains(Scope::Read) && !scopes.contains(Scope::Append));
}
