//! A thief of a user's token.

use serde_json::{Value, json};
use tests::eventually::eventually;
use tests::jwt::{hs256, seconds_from_now};
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
    let request = proto::RevokeTokenRequest { tenant_id: "acme".to_owned(), token_id: "stolen".to_owned() };
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
