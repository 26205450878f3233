//! A tenant's rules for the tokens of its users and administrators, and revoked tokens.

use serde_json::{Value, json};
use tests::errors::check_failure;
use tests::eventually::eventually;
use tests::jwt::{hs256, seconds_from_now};
use tests::operator::Operator;
use tonic::Code::{InvalidArgument, NotFound};
use wire::proto::operate::v1 as proto;

use crate::fixture::{Fixture, bearer};

/// The status for a user with a token with these claims.
async fn as_user(fixture: &Fixture, claims: &Value) -> u16 {
    let token = hs256(&fixture.user_secret, claims);
    let client = fixture.frontend().with("x-user-token", &token);
    client.get("/api/chats").await.status
}

async fn as_admin(fixture: &Fixture, claims: &Value) -> u16 {
    let mut claims = claims.clone();
    claims["tenant"] = json!(fixture.tenant);
    claims["role"] = json!("admin");
    let client = bearer(&fixture.stack, &hs256(&fixture.admin_secret, &claims));
    client.get("/v1/admin/conversations").await.status
}

async fn check(fixture: &Fixture, more: Value, expected: u16) {
    let mut claims = json!({"sub": "ada", "exp": seconds_from_now(600)});
    claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    // The gateway applies changes shortly after the writer.
    eventually(&format!("{expected} for {claims}"), || async {
        let seen = (as_user(fixture, &claims).await, as_admin(fixture, &claims).await);
        (seen == (expected, expected)).then_some(())
    })
    .await;
}

fn rules(fixture: &Fixture) -> proto::SetTokenRulesRequest {
    proto::SetTokenRulesRequest { tenant_id: fixture.tenant.to_owned(), ..proto::SetTokenRulesRequest::default() }
}

async fn set(fixture: &Fixture, rules: proto::SetTokenRulesRequest) -> proto::TokenRules {
    let set = fixture.operator.registry().set_token_rules(rules).await;
    let tenant = set.unwrap().into_inner().tenant.unwrap();
    tenant.token_rules.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_must_meet_the_rules_of_the_tenant() {
    let fixture = Fixture::new().await;
    let day = 86_400;
    check(&fixture, json!({}), 200).await;
    check(&fixture, json!({"exp": seconds_from_now(day - 60)}), 200).await;
    check(&fixture, json!({"exp": seconds_from_now(day + 60)}), 401).await;
    let audience = proto::SetTokenRulesRequest { audience: Some("chat".to_owned()), ..rules(&fixture) };
    set(&fixture, audience).await;
    check(&fixture, json!({}), 401).await;
    check(&fixture, json!({"aud": "hansard"}), 401).await;
    check(&fixture, json!({"aud": ["x", "chat"]}), 200).await;
    let issuer = proto::SetTokenRulesRequest {
        issuer: Some("https://id.example".to_owned()),
        lifetime_seconds_max: Some(300),
        ..rules(&fixture)
    };
    // Omitted fields stay unchanged.
    assert_eq!(set(&fixture, issuer).await.audience, "chat");
    check(&fixture, json!({"aud": "chat", "exp": seconds_from_now(200)}), 401).await;
    let whole = json!({"aud": "chat", "iss": "https://id.example"});
    check(&fixture, whole.clone(), 401).await;
    let mut short = whole;
    short["exp"] = json!(seconds_from_now(200));
    check(&fixture, short, 200).await;
}

async fn revoke(operator: &Operator, tenant: &str, id: &str) -> Result<proto::RevokeTokenResponse, tonic::Status> {
    let (tenant_id, token_id) = (tenant.to_owned(), id.to_owned());
    let request = proto::RevokeTokenRequest { tenant_id, token_id, ..proto::RevokeTokenRequest::default() };
    let revoked = operator.registry().revoke_token(request).await;
    revoked.map(tonic::Response::into_inner)
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_tokens_are_rejected() {
    let mut fixture = Fixture::own().await;
    check(&fixture, json!({"jti": "t-1"}), 200).await;
    let revoked = revoke(&fixture.operator, fixture.tenant, "t-1").await.unwrap();
    let kept_until = revoked.kept_until.unwrap().seconds;
    // A day, and the leeway at both ends.
    assert!((kept_until - seconds_from_now(86_400 + 60)).abs() < 30, "{kept_until}");
    check(&fixture, json!({"jti": "t-1"}), 401).await;
    check(&fixture, json!({"jti": "t-2"}), 200).await;
    check(&fixture, json!({}), 200).await;
    // Also at a gateway that starts later.
    fixture.stack.gateway.stop().await;
    fixture.stack.gateway.start().await;
    check(&fixture, json!({"jti": "t-1"}), 401).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_requests_are_rejected() {
    let fixture = Fixture::new().await;
    let operator = &fixture.operator;
    for (id, reason) in [("", "FIELD_MISSING"), (&*"x".repeat(257), "FIELD_TOO_LONG")] {
        let expected = (InvalidArgument, reason, "token_id");
        check_failure(reason, revoke(operator, fixture.tenant, id).await, expected);
    }
    revoke(operator, fixture.tenant, &"x".repeat(256)).await.expect("at the bound");
    let long = proto::SetTokenRulesRequest { lifetime_seconds_max: Some(31_536_001), ..rules(&fixture) };
    let refused = operator.registry().set_token_rules(long).await;
    let expected = (InvalidArgument, "FIELD_OUT_OF_RANGE", "lifetime_seconds_max");
    check_failure("past a year", refused, expected);
    // Another tenant's operator sees neither.
    let token = operator.token(&[proto::Scope::Operate], fixture.foreign_tenant).await;
    let foreign = Operator::new(operator.caller().with_token(&token.secret));
    let missing = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "tenant_id");
    check_failure("revoke", revoke(&foreign, fixture.tenant, "t").await, missing);
    let refused = foreign.registry().set_token_rules(rules(&fixture)).await;
    check_failure("set", refused, missing);
}
