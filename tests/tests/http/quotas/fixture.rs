//! A system with two tenants and slow models, whose gateways trust a proxy's client addresses.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gateway::GatewayConfig;
use quotas::QuotaSet;
use serde_json::{Value, json};
use tests::eventually::eventually;
use tests::http_client::{Answer, HttpClient};
use wire::proto::operate::v1 as proto;

use crate::fixture::Fixture;

/// The model's delay before each word.
pub(super) const WORD_DELAY: Duration = Duration::from_millis(40);

/// The same, with quotas of the deployment.
pub(super) async fn fixture(quotas: impl FnOnce(&mut QuotaSet), change: impl FnOnce(&mut GatewayConfig)) -> Fixture {
    let fixture = Fixture::with(|config| {
        let slow = json!({"slow": {
            "kind": "echo", "echo_word_delay_ms": WORD_DELAY.as_millis(),
            "requests_max": 8,
        }});
        config.models = serde_json::from_value(slow).unwrap();
        config.http.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        quotas(&mut config.quotas);
        change(config);
    })
    .await;
    for agent in [fixture.agent_id, fixture.foreign_agent_id] {
        let settings = proto::AgentSettings {
            identity_mode: proto::IdentityMode::Open.into(),
            model: Some(proto::ModelSettings {
                server: "slow".to_owned(),
                model: "slow".to_owned(),
                ..proto::ModelSettings::default()
            }),
            ..proto::AgentSettings::default()
        };
        fixture.operator.settings(agent, settings).await;
    }
    eventually("a gateway that knows the slow model", || async {
        let started = std::time::Instant::now();
        // Uses the other tenant, which is set last, so that the first one has made no call.
        let answer = say(&other(&fixture), "a b c").await;
        (answer.status == 200 && started.elapsed() > WORD_DELAY).then_some(())
    })
    .await;
    fixture
}

/// A session of the other tenant's frontend, with its own address.
pub(super) fn other(fixture: &Fixture) -> HttpClient {
    let client = fixture.stack.http_client();
    client
        .with("x-api-key", &fixture.foreign_key.secret)
        .with("x-session-id", "other")
        .with("x-forwarded-for", "198.51.100.1")
}

/// A session of the first tenant's frontend, with an address.
pub(super) fn session(fixture: &Fixture, id: &str, address: &str) -> HttpClient {
    fixture.session(id).with("x-forwarded-for", address)
}

/// One turn without a session.
pub(super) async fn say(client: &HttpClient, text: &str) -> Answer {
    client.post("/v1/chat", &json!({"message": text})).await
}

/// Sets quotas of the first tenant, and waits until the gateway applies them: it shows a marker that is set with them.
pub(super) async fn set(fixture: &Fixture, scope: &str, quota: &str, value: Option<u64>) {
    static MARKER: AtomicU64 = AtomicU64::new(1 << 40);
    let marker = MARKER.fetch_add(1, Ordering::Relaxed);
    let mut given = QuotaSet::default();
    given.address.model_tokens_per_day = Some(marker);
    let scope_of = quotas::Scope::ALL.into_iter().find(|one| one.as_str() == scope);
    let quota_of = quotas::Quota::ALL.into_iter().find(|one| one.as_str() == quota);
    let (scope_of, quota_of) = (scope_of.unwrap(), quota_of.unwrap());
    given.of_mut(scope_of).set(quota_of, value);
    let paths = vec![format!("{scope}.{quota}"), "address.model_tokens_per_day".to_owned()];
    let request = proto::SetTenantQuotasRequest {
        tenant_id: fixture.tenant.to_owned(),
        quotas: Some(registry::quotas_to_proto(&given)),
        update_mask: Some(prost_types::FieldMask { paths }),
    };
    fixture.operator.registry().set_tenant_quotas(request).await.expect("quotas of a tenant");
    eventually("a gateway that knows the quota", || async {
        let in_force = bound(&fixture.frontend(), "address", "model_tokens_per_day").await;
        (in_force == Some(marker)).then_some(())
    })
    .await;
}

/// The quota in `GET /v1/limits`.
pub(super) async fn bound(client: &HttpClient, scope: &str, quota: &str) -> Option<u64> {
    let limits = client.get("/v1/limits").await.ok(200);
    let quotas = limits["quotas"].as_array().cloned().unwrap_or_default();
    let is_it = |one: &&Value| one["scope"] == scope && one["quota"] == quota;
    quotas.iter().find(is_it).and_then(|one| one["bound"].as_u64())
}

/// Checks that an answer is a rejection by this quota. Visitors do not learn the bounds that they share with others.
pub(super) fn check_refused(answer: &Answer, (scope, quota): (&str, &str), bound: u64) {
    assert_eq!(answer.status_and_code(), (429, "QUOTA_EXCEEDED".to_owned()));
    let problem = answer.json();
    let metadata = &problem["metadata"];
    if ["owner", "address"].contains(&scope) {
        let details = (&metadata["quota"], &metadata["scope"], &metadata["bound"]);
        assert_eq!(details, (&json!(quota), &json!(scope), &json!(bound.to_string())), "{problem}");
    } else {
        assert!(metadata.is_null() && !problem["detail"].to_string().contains(scope), "{problem}");
    }
    let seconds = answer.headers.get("retry-after").map(|seconds| seconds.parse::<u64>().unwrap());
    // Time frees nothing that is stored. What a key or an address sends is counted by day.
    let is_stored = matches!(quota, "conversations" | "stored_bytes") && !["key", "address"].contains(&scope);
    assert_eq!(seconds.is_none_or(|seconds| seconds == 0), is_stored, "{seconds:?}");
}
