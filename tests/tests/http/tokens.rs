//! What a tenant demands of the tokens of its users and administrators, and tokens that it revokes.

use serde_json::{Value, json};
use tests::errors::check_failure;
use tests::eventually::eventually;
use tests::jwt::{hs256, seconds_from_now};
use tests::operator::Operator;
use tonic::Code::{InvalidArgument, NotFound};
use wire::proto::operate::v1 as proto;

use crate::ground::{Ground, TENANT, bearer};

/// The status that a user gets by a token with these claims.
async fn as_user(ground: &Ground, claims: &Value) -> u16 {
    let token = hs256(&ground.user_secret, claims);
    let door = ground.frontend().with("x-user-token", &token);
    door.get("/api/chats").await.status
}

async fn as_admin(ground: &Ground, claims: &Value) -> u16 {
    let mut claims = claims.clone();
    claims["tenant"] = json!(TENANT);
    claims["role"] = json!("admin");
    let door = bearer(&ground.stack, &hs256(&ground.admin_secret, &claims));
    door.get("/v1/admin/conversations").await.status
}

async fn check(ground: &Ground, more: Value, expected: u16) {
    let mut claims = json!({"sub": "ada", "exp": seconds_from_now(600)});
    claims
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    // The gateway hears of changes a moment after the writer.
    eventually(&format!("{expected} for {claims}"), || async {
        let seen = (
            as_user(ground, &claims).await,
            as_admin(ground, &claims).await,
        );
        (seen == (expected, expected)).then_some(())
    })
    .await;
}

fn rules() -> proto::SetTokenRulesRequest {
    proto::SetTokenRulesRequest {
        tenant_id: TENANT.to_owned(),
        ..proto::SetTokenRulesRequest::default()
    }
}

async fn set(ground: &Ground, rules: proto::SetTokenRulesRequest) -> proto::TokenRules {
    let set = ground.operator.registry().set_token_rules(rules).await;
    let tenant = set.unwrap().into_inner().tenant.unwrap();
    tenant.token_rules.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_as_the_tenant_demands() {
    let ground = Ground::new().await;
    let day = 86_400;
    check(&ground, json!({}), 200).await;
    check(&ground, json!({"exp": seconds_from_now(day - 60)}), 200).await;
    check(&ground, json!({"exp": seconds_from_now(day + 60)}), 401).await;
    let audience = proto::SetTokenRulesRequest {
        audience: Some("chat".to_owned()),
        ..rules()
    };
    set(&ground, audience).await;
    check(&ground, json!({}), 401).await;
    check(&ground, json!({"aud": "hansard"}), 401).await;
    check(&ground, json!({"aud": ["x", "chat"]}), 200).await;
    let issuer = proto::SetTokenRulesRequest {
        issuer: Some("https://id.example".to_owned()),
        lifetime_seconds_max: Some(300),
        ..rules()
    };
    // What is not given stays.
    assert_eq!(set(&ground, issuer).await.audience, "chat");
    check(
        &ground,
        json!({"aud": "chat", "exp": seconds_from_now(200)}),
        401,
    )
    .await;
    let whole = json!({"aud": "chat", "iss": "https://id.example"});
    check(&ground, whole.clone(), 401).await;
    let mut short = whole;
    short["exp"] = json!(seconds_from_now(200));
    check(&ground, short, 200).await;
}

async fn revoke(
    operator: &Operator,
    id: &str,
) -> Result<proto::RevokeTokenResponse, tonic::Status> {
    let request = proto::RevokeTokenRequest {
        tenant_id: TENANT.to_owned(),
        token_id: id.to_owned(),
    };
    let revoked = operator.registry().revoke_token(request).await;
    revoked.map(tonic::Response::into_inner)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_lets_nobody_in() {
    let mut ground = Ground::new().await;
    check(&ground, json!({"jti": "t-1"}), 200).await;
    let revoked = revoke(&ground.operator, "t-1").await.unwrap();
    let kept_until = revoked.kept_until.unwrap().seconds;
    // A day, and the leeway at both ends.
    assert!(
        (kept_until - seconds_from_now(86_400 + 60)).abs() < 30,
        "{kept_until}"
    );
    check(&ground, json!({"jti": "t-1"}), 401).await;
    check(&ground, json!({"jti": "t-2"}), 200).await;
    check(&ground, json!({}), 200).await;
    // Also by a gateway that starts later.
    ground.stack.gateway.stop().await;
    ground.stack.gateway.start().await;
    check(&ground, json!({"jti": "t-1"}), 401).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused() {
    let ground = Ground::new().await;
    let operator = &ground.operator;
    for (id, reason) in [("", "FIELD_MISSING"), (&*"x".repeat(257), "FIELD_TOO_LONG")] {
        let expected = (InvalidArgument, reason, "token_id");
        check_failure(reason, revoke(operator, id).await, expected);
    }
    revoke(operator, &"x".repeat(256))
        .await
        .expect("at the bound");
    let long = proto::SetTokenRulesRequest {
        lifetime_seconds_max: Some(31_536_001),
        ..rules()
    };
    let refused = operator.registry().set_token_rules(long).await;
    let expected = (
        InvalidArgument,
        "FIELD_OUT_OF_RANGE",
        "lifetime_seconds_max",
    );
    check_failure("past a year", refused, expected);
    // Another tenant's operator sees neither.
    let token = operator
        .token(&[proto::Scope::Operate], crate::ground::FOREIGN_TENANT)
        .await;
    let foreign = Operator::new(operator.caller().with_token(&token.secret));
    let missing = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "tenant_id");
    check_failure("revoke", revoke(&foreign, "t").await, missing);
    let refused = foreign.registry().set_token_rules(rules()).await;
    check_failure("set", refused, missing);
}
