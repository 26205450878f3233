//! Records with a registry for tests.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use devstack::NatsServer;
use domain::{AgentId, DisplayName, Label, TenantId, Timestamp};
use event_log::{Record, RecordConfig};
use registry::{NewServiceToken, Principal, Registry, Scope, Secret};
use tokio::time::{sleep, timeout};

/// Timeout of a condition.
const TIMEOUT: Duration = Duration::from_secs(20);
pub(crate) const NOW: Timestamp = Timestamp(1_790_000_000_000_000_000);

/// Two tenants, `acme` with the agent `bot`, `other` with the agent `their-bot`.
pub(crate) async fn filled(record: &Record) -> Registry {
    let registry = Registry::open(record).await.unwrap();
    for (owner, bot) in [("acme", "bot"), ("other", "their-bot")] {
        registry.create_tenant(&tenant(owner), &name("A tenant"), NOW).await.unwrap();
        registry.create_agent(&tenant(owner), &agent(bot), &name("A bot"), NOW).await.unwrap();
    }
    registry
}

pub(crate) fn token(name: &str, scopes: &[Scope], bound_to: Option<&str>) -> NewServiceToken {
    NewServiceToken {
        display_name: Label::parse(name).unwrap(),
        scopes: scopes.iter().copied().collect(),
        tenant: bound_to.map(tenant),
        agents: BTreeSet::new(),
        expires_at: None,
    }
}

pub(crate) async fn principal(registry: &Registry, new: NewServiceToken) -> (Principal, Secret, String) {
    let (token, secret) = registry.create_service_token(new, NOW).await.unwrap();
    assert!(token.token_sha256.is_empty());
    let principal = registry.authenticate(secret.reveal(), NOW).await.unwrap();
    (principal, secret, token.service_token_id)
}

pub(crate) async fn two(server: &NatsServer) -> (Registry, Registry) {
    let record = record_of_one(server).await;
    let first = filled(&record).await;
    let record = Record::open(config_of_one(server)).await.unwrap();
    (first, Registry::open(&record).await.unwrap())
}

/// A record of one partition.
pub(crate) async fn record_of_one(server: &NatsServer) -> Record {
    Record::create(config_of_one(server)).await.unwrap()
}

pub(crate) fn config_of_one(server: &NatsServer) -> RecordConfig {
    RecordConfig { partitions: 1, request_timeout_ms: 3_000, ..RecordConfig::new(server.url()) }
}

pub(crate) fn tenant(id: &str) -> TenantId {
    TenantId::parse(id).unwrap()
}

pub(crate) fn agent(id: &str) -> AgentId {
    AgentId::parse(id).unwrap()
}

pub(crate) fn name(text: &str) -> DisplayName {
    DisplayName::parse(text).unwrap()
}

/// Polls until a condition holds.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let polling = async {
        while !holds().await {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TIMEOUT, polling).await.unwrap_or_else(|_| panic!("timeout: {what}"));
}
