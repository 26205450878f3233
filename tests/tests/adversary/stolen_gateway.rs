//! A thief has everything that a gateway has: its environment, its token, its NATS user and its Postgres login.
//!
//! What these credentials cannot do to the record and to rows is tried in `tests/tests/deploy` (`permissions.rs`, `push_consumers.rs`,
//! `matrix.rs`, `logins.rs`).

use std::collections::BTreeSet;

use domain::{Label, TenantId, Timestamp};
use event_log::Record;
use event_log::seal::{MasterKey, MasterKeys};
use identity::{DashboardUse, NewPerson, Role, TenantScope};
use registry::{NewServiceToken, Registry, Scope, Scopes};
use runtime::clock::Clock;
use tests::client::Caller;
use tests::errors::{Expected, check_failure};
use tests::operator::Operator;
use tests::{deploy_files, nats_accounts};
use tonic::Code::{PermissionDenied, Unauthenticated};
use tonic::Status;
use wire::proto::operate::v1 as proto;

use crate::fixture::Fixture;

const NO_SCOPE: Expected = (PermissionDenied, "MISSING_SCOPE", "");
/// The scopes of the gateway's token, as `deploy/compose/bootstrap.sh` and docs/how-to/deploy.md create it.
const SCOPES: [proto::Scope; 3] = [proto::Scope::Append, proto::Scope::Read, proto::Scope::Erase];

/// A running system with an agent of two tenants, and the key that the gateway has in place of the master key.
async fn start() -> (Fixture, MasterKey, Operator) {
    let mut fixture = Fixture::prepare().await;
    let registry_key = MasterKey::generate();
    fixture.set_registry_key(&registry_key);
    Box::pin(fixture.stack.start()).await;
    let operator = fixture.operator().await;
    operator.agent("acme", "support").await;
    operator.agent("globex", "globex-support").await;
    (fixture, registry_key, operator)
}

/// The registry, as the gateway opens it.
async fn stolen_registry(fixture: &Fixture, registry_key: &MasterKey) -> (Record, Registry) {
    let keys = MasterKeys { registry: Some(registry_key.clone()), ..MasterKeys::default() };
    let record = fixture.record("gateway", &keys).await;
    let registry = Registry::open(&record).await.expect("a registry");
    assert_eq!(registry.check_secrets(), Ok(()));
    (record, registry)
}

fn now() -> Timestamp {
    Timestamp(Clock::System.now_nanos())
}

/// A session that the thief signs.
fn forged(registry: &Registry, person: NewPerson) -> String {
    registry.issue_dashboard_token(DashboardUse::Session, person, now()).expect("a tenant").1
}

/// The outcomes of rpcs that create credentials, and of those that change settings.
async fn changes(caller: &Caller, agent: &str, tenant: &str) -> Vec<(&'static str, Result<(), Status>)> {
    let mut registry = caller.registry();
    let (agent_id, tenant_id) = (agent.to_owned(), tenant.to_owned());
    let settings = proto::SetAgentSettingsRequest { agent_id: agent_id.clone(), ..Default::default() };
    let key = proto::CreateApiKeyRequest { agent_id: agent_id.clone(), ..Default::default() };
    let signing_key = proto::AddSigningKeyRequest {
        tenant_id,
        signing_key_id: "stolen".to_owned(),
        r#use: proto::SigningKeyUse::Admin.into(),
        ..Default::default()
    };
    let secret = proto::RotateWebhookSecretRequest { agent_id, overlap_seconds: 0 };
    vec![
        ("set settings", registry.set_agent_settings(settings).await.map(drop)),
        ("create key", registry.create_api_key(key).await.map(drop)),
        ("add signing key", registry.add_signing_key(signing_key).await.map(drop)),
        ("rotate secret", registry.rotate_webhook_secret(secret).await.map(drop)),
    ]
}

/// The outcomes of rpcs that only operators may call.
async fn operator_rpcs(caller: &Caller) -> Vec<(&'static str, Result<(), Status>)> {
    let mut registry = caller.registry();
    let token = proto::CreateServiceTokenRequest {
        display_name: "theirs".to_owned(),
        scopes: vec![proto::Scope::Operate.into()],
        ..Default::default()
    };
    let link = proto::CreateDashboardLinkRequest {
        tenant_id: "acme".to_owned(),
        name: "theirs".to_owned(),
        role: proto::DashboardRole::Administrator.into(),
    };
    let tenant = proto::CreateTenantRequest { tenant_id: "theirs".to_owned(), ..Default::default() };
    let agent =
        proto::CreateAgentRequest { tenant_id: "acme".to_owned(), agent_id: "theirs".to_owned(), ..Default::default() };
    vec![
        ("create token", registry.create_service_token(token).await.map(drop)),
        ("create link", registry.create_dashboard_link(link).await.map(drop)),
        ("create tenant", registry.create_tenant(tenant).await.map(drop)),
        ("create agent", registry.create_agent(agent).await.map(drop)),
        ("list tokens", registry.list_service_tokens(proto::ListServiceTokensRequest::default()).await.map(drop)),
    ]
}

fn check_all(outcomes: Vec<(&'static str, Result<(), Status>)>, expected: Expected) {
    for (rpc, outcome) in outcomes {
        check_failure(rpc, outcome, expected);
    }
}

/// The gateway's token creates no credentials, tenants and agents, and changes no settings. Without its scope, it erases nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_gateways_token_operates_nothing() {
    let (_fixture, _, operator) = start().await;
    let token = operator.token(&SCOPES, "").await;
    let thief = operator.caller().with_token(&token.secret);
    check_all(changes(&thief, "support", "acme").await, NO_SCOPE);
    check_all(operator_rpcs(&thief).await, NO_SCOPE);
    let without_erase = operator.token(&SCOPES[..2], "").await;
    let thief = tests::agent::Agent::new(operator.caller().with_token(&without_erase.secret), "support");
    thief.create("c").await;
    let erased = thief.try_erase(thief.target("c")).await;
    check_failure("erase", erased.map(drop), NO_SCOPE);
}

/// A gateway can sign sessions of every tenant. Without the endorsement of a writer they change nothing.
#[tokio::test(flavor = "multi_thread")]
async fn forged_sessions_change_nothing() {
    let (fixture, registry_key, operator) = start().await;
    let (_record, registry) = stolen_registry(&fixture, &registry_key).await;
    let link = operator.dashboard_link("acme", proto::DashboardRole::Administrator).await;
    let ada = registry.verify_dashboard_token(DashboardUse::Link, &link, now()).expect("a link").person;
    // What a gateway signs when the link is used.
    let session = forged(&registry, ada.to_new());
    let caller = |token: &str| operator.caller().with_token(token);
    let unendorsed = NewPerson { endorsement: None, ..ada.to_new() };
    // The endorsement itself, as a session of another kind.
    let endorsement = ada.endorsement().expect("an endorsement").to_owned();
    for (person, agent, at) in [
        (unendorsed.clone(), "support", "acme"),
        (NewPerson { endorsement: Some(session.clone()), ..unendorsed.clone() }, "support", "acme"),
        (NewPerson { subject: Label::parse("eve").expect("a label"), ..ada.to_new() }, "support", "acme"),
        (NewPerson { tenant: TenantId::parse("globex").expect("an id"), ..ada.to_new() }, "globex-support", "globex"),
        (NewPerson { role: Role::Operator, tenant_scope: TenantScope::All, ..ada.to_new() }, "support", "acme"),
    ] {
        let thief = caller(&forged(&registry, person));
        check_all(changes(&thief, agent, at).await, NO_SCOPE);
        check_all(operator_rpcs(&thief).await, (Unauthenticated, "UNAUTHENTICATED", ""));
    }
    let thief = caller(&endorsement);
    check_all(changes(&thief, "support", "acme").await, (Unauthenticated, "UNAUTHENTICATED", ""));
    // A session of the signed-in person does.
    for (rpc, outcome) in changes(&caller(&session), "support", "acme").await {
        outcome.unwrap_or_else(|status| panic!("{rpc}: {status:?}"));
    }
}

/// The gateway's key opens the registry's secrets, and no other.
#[tokio::test(flavor = "multi_thread")]
async fn the_gateways_key_opens_no_secret_of_writers() {
    let (fixture, registry_key, _) = start().await;
    let master = MasterKeys { current: Some(fixture.master_key.clone()), ..MasterKeys::default() };
    let operators = fixture.record("operator", &master).await;
    operators.receipt_keys(now()).await.expect("keys");
    // A backup has the restricted bucket: what an operator's user reads, this key does not open.
    let stolen = MasterKeys { registry: Some(registry_key), ..MasterKeys::default() };
    let backup = fixture.record("operator", &stolen).await;
    assert!(backup.existing_receipt_keys().await.is_err());
    let (gateway, registry) = stolen_registry(&fixture, stolen.registry.as_ref().expect("a key")).await;
    assert!(gateway.existing_receipt_keys().await.is_err());
    // It cannot write the bucket that it reads.
    let token = NewServiceToken {
        display_name: Label::parse("theirs").expect("a label"),
        scopes: Scopes::from_iter(Scope::ALL),
        tenant: None,
        agents: BTreeSet::new(),
        expires_at: None,
    };
    assert!(registry.create_service_token(token, now()).await.is_err());
    assert!(!nats_accounts::violations(fixture.stack.servers.nats()).is_empty());
}

/// What the files of deployments give to gateways.
#[test]
fn no_gateway_is_deployed_with_the_master_key() {
    let compose = deploy_files::text("compose.yaml");
    let (_, gateway) = compose.split_once("\n  gateway:\n").expect("a gateway");
    let (gateway, _) = gateway.split_once("\n\n").expect("an end");
    let secrets = deploy_files::text("kubernetes/secrets.example.yaml");
    let secret = secrets.split("---").find(|one| one.contains("name: gateway,")).expect("a secret");
    for given in [gateway, secret] {
        assert!(given.contains("HANSARD_REGISTRY_KEY") && !given.contains("HANSARD_MASTER_KEY"), "{given}");
    }
    let script = deploy_files::text("compose/bootstrap.sh");
    let scopes =
        SCOPES.map(|scope| format!("--scope {}", scope.as_str_name().trim_start_matches("SCOPE_").to_lowercase()));
    assert!(script.contains(&format!("--name gateway {} >", scopes.join(" "))), "{scopes:?}");
}
