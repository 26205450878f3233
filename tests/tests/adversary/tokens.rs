//! Thieves of users' tokens, and tokens of signing keys that have ended.

use domain::Timestamp;
use event_log::{Record, RecordConfig};
use identity::token_digest;
use registry::Registry;
use serde_json::{Value, json};
use tests::errors::check_failure;
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use tests::jwt::{hs256, seconds_from_now};
use tests::operator::Operator;
use tests::raw_nats::RawNats;
use tonic::Code;
use wire::proto::operate::v1 as proto;

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread")]
async fn stolen_tokens_can_be_revoked() {
    let fixture = Fixture::start().await;
    let operator = fixture.operator().await;
    operator.agent("acme", "support").await;
    let secret = operator.signing_key("acme", "users", proto::SigningKeyUse::User).await;
    let key = operator.api_key("support").await;
    let thief = fixture.stranger().with("x-api-key", &key.secret);
    let check = async |claims: Value, expected: u16| {
        let token = hs256(&secret, &claims);
        let thief = thief.with("x-user-token", &token);
        eventually(&format!("{expected} for {claims}"), || async {
            (thief.get("/api/chats").await.status == expected).then_some(())
        })
        .await;
    };
    let hour = seconds_from_now(3_600);
    check(json!({"sub": "ada", "exp": hour, "jti": "stolen"}), 200).await;
    // A token with a long lifetime is rejected from the start.
    check(json!({"sub": "ada", "exp": seconds_from_now(10 * 365 * 86_400)}), 401).await;
    let request = proto::RevokeTokenRequest {
        tenant_id: "acme".to_owned(),
        token_id: "stolen".to_owned(),
        ..proto::RevokeTokenRequest::default()
    };
    operator.registry().revoke_token(request).await.expect("a revocation");
    check(json!({"sub": "ada", "exp": hour, "jti": "stolen"}), 401).await;
    check(json!({"sub": "ada", "exp": hour, "jti": "another"}), 200).await;
    // A token for another service.
    let rules = proto::SetTokenRulesRequest {
        tenant_id: "acme".to_owned(),
        audience: Some("chat.acme.example".to_owned()),
        ..proto::SetTokenRulesRequest::default()
    };
    operator.registry().set_token_rules(rules).await.expect("rules");
    check(json!({"sub": "ada", "exp": hour}), 401).await;
    check(json!({"sub": "ada", "exp": hour, "aud": "mail.acme.example"}), 401).await;
    check(json!({"sub": "ada", "exp": hour, "aud": "chat.acme.example"}), 200).await;
}

/// Revokes a token of a tenant that has no `jti`.
async fn revoke(operator: &Operator, tenant: &str, token: &str) -> Result<(), tonic::Status> {
    let request = proto::RevokeTokenRequest {
        tenant_id: tenant.to_owned(),
        token_sha256: token_digest(token).expect("a token").to_vec().into(),
        ..proto::RevokeTokenRequest::default()
    };
    operator.registry().revoke_token(request).await.map(drop)
}

/// The statuses of requests of a user, over every surface that accepts their tokens.
async fn statuses(user: &HttpClient) -> Vec<u16> {
    let parts = json!([{"type": "text", "text": "hello"}]);
    let turn = json!({"messages": [{"id": "m1", "role": "user", "parts": parts}]});
    let message = json!({"message": "hello"});
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let accept = user.with("accept", "application/json, text/event-stream");
    let answers = [
        user.get("/api/chats").await,
        user.get("/api/search?q=hello").await,
        user.post("/api/chat", &turn).await,
        user.post("/v1/chat", &message).await,
        user.post("/api/sessions/claim", &json!({})).await,
        accept.post("/mcp", &list).await,
    ];
    answers.iter().map(|answer| answer.status).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn stolen_tokens_without_an_id_can_be_revoked() {
    let fixture = Fixture::start().await;
    let operator = fixture.operator().await;
    operator.agent("acme", "support").await;
    operator.agent("globex", "theirs").await;
    let secret = operator.signing_key("acme", "users", proto::SigningKeyUse::User).await;
    let key = operator.api_key("support").await;
    let hour = seconds_from_now(3_600);
    let stolen = hs256(&secret, &json!({"sub": "ada", "exp": hour}));
    let caller = fixture.stranger().with("x-api-key", &key.secret);
    let (thief, ada) = (
        caller.with("x-user-token", &stolen),
        caller.with("x-user-token", &hs256(&secret, &json!({"sub": "ada", "exp": hour + 1}))),
    );
    eventually("a gateway that knows the key", || async {
        (thief.get("/api/chats").await.status == 200).then_some(())
    })
    .await;
    let foreign = operator.token(&[proto::Scope::Operate], "globex").await;
    let foreign = Operator::new(operator.caller().with_token(&foreign.secret));
    let refused = (Code::NotFound, "REGISTRY_ENTRY_NOT_FOUND", "tenant_id");
    check_failure("another tenant's operator", revoke(&foreign, "acme", &stolen).await, refused);
    revoke(&foreign, "globex", &stolen).await.expect("a revocation in the own tenant");
    assert_eq!(thief.get("/api/chats").await.status, 200);
    revoke(&operator, "acme", &stolen).await.expect("a revocation");
    eventually("the end of the token", || async { (thief.get("/api/chats").await.status == 401).then_some(()) }).await;
    assert_eq!(statuses(&thief).await, [401; 6]);
    assert_eq!(ada.get("/api/chats").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_expired_signing_keys_are_rejected() {
    let fixture = Fixture::start().await;
    let operator = fixture.operator().await;
    operator.agent("acme", "support").await;
    let key = operator.api_key("support").await;
    let caller = fixture.stranger().with("x-api-key", &key.secret);
    let add = async |id: &str, seconds: i64| {
        let request = proto::AddSigningKeyRequest {
            tenant_id: "acme".to_owned(),
            signing_key_id: id.to_owned(),
            r#use: proto::SigningKeyUse::User.into(),
            kind: None,
            expires_at: Some(prost_types::Timestamp { seconds: seconds_from_now(seconds), nanos: 0 }),
        };
        operator.registry().add_signing_key(request).await.expect("a key").into_inner().secret
    };
    let user = |secret: &str| {
        let claims = json!({"sub": "ada", "exp": seconds_from_now(3_600)});
        caller.with("x-user-token", &hs256(secret, &claims))
    };
    let lasting = user(&add("lasting", 3_600).await);
    let ending = user(&add("ending", 5).await);
    for client in [&lasting, &ending] {
        eventually("a gateway that knows the key", || async {
            (client.get("/api/chats").await.status == 200).then_some(())
        })
        .await;
    }
    eventually("the end of the key", || async { (ending.get("/api/chats").await.status == 401).then_some(()) }).await;
    assert_eq!(statuses(&ending).await, [401; 6]);
    assert_eq!(lasting.get("/api/chats").await.status, 200);
}

/// Guesses of unknown tokens cost the servers of the record a bounded number of lookups.
#[tokio::test(flavor = "multi_thread")]
async fn lookups_of_unknown_tokens_are_limited() {
    let server = devstack::test::nats().await;
    let record = RecordConfig { partitions: 1, ..RecordConfig::new(server.url()) };
    let registry = Registry::open(&Record::create(record).await.unwrap()).await.unwrap();
    let mut raw = RawNats::connect(&server.url(), "", "").await;
    let mut requests = async || raw.request("$JS.API.INFO", &json!({})).await["api"]["total"].as_u64().unwrap();
    let before = requests().await;
    for number in 0..500 {
        assert_eq!(registry.authenticate(&format!("hs_{number}"), Timestamp(1)).await, None);
    }
    let count = requests().await - before;
    assert!((2..=100).contains(&count), "{count} requests");
}
