//! Rules of tenants for tokens.

use std::sync::Arc;
use std::time::Duration;

use domain::Timestamp;
use identity::{LIFETIME_MAX_DEFAULT, TokenError, TokenRules, token_id_digest};
use serde_json::{Value, json};

use crate::signer::{NOW, NOW_SECONDS, Signer, verify_under, with};

fn check(rules: &TokenRules, more: &Value, expected: Result<(), TokenError>) {
    let signer = Signer::hs256();
    let token = signer.token(&with(more));
    let outcome = verify_under(rules, (&token, &[signer.key("a")]), NOW);
    assert_eq!(outcome.map(drop), expected, "{more}");
}

fn claim(claim: &'static str) -> Result<(), TokenError> {
    Err(TokenError::Claim { claim })
}

#[test]
fn the_audience_of_the_tenant_is_required() {
    let rules = TokenRules { audience: Some("chat.acme.example".to_owned()), ..TokenRules::default() };
    check(&rules, &json!({"aud": "chat.acme.example"}), Ok(()));
    check(&rules, &json!({"aud": ["x", "chat.acme.example"]}), Ok(()));
    check(&rules, &json!({}), claim("aud"));
    // These are accepted only without the rule.
    for other in [json!("hansard"), json!("support"), json!([])] {
        check(&rules, &json!({"aud": other}), Err(TokenError::WrongAudience));
    }
}

#[test]
fn the_issuer_of_the_tenant_is_required() {
    let rules = TokenRules { issuer: Some("https://id.acme.example".to_owned()), ..TokenRules::default() };
    check(&rules, &json!({"iss": "https://id.acme.example"}), Ok(()));
    check(&rules, &json!({}), claim("iss"));
    check(&rules, &json!({"iss": ["https://id.acme.example"]}), claim("iss"));
    let other = json!({"iss": "https://id.acme.example/"});
    check(&rules, &other, Err(TokenError::WrongIssuer));
    check(&TokenRules::default(), &other, Ok(()));
}

#[test]
fn the_lifetime_is_bounded() {
    let long = Err(TokenError::TooLongLived);
    let day = i64::try_from(LIFETIME_MAX_DEFAULT.as_secs()).unwrap();
    let default = TokenRules::default();
    let begun = NOW_SECONDS - 1_000;
    check(&default, &json!({"iat": begun, "exp": begun + day}), Ok(()));
    check(&default, &json!({"iat": begun, "exp": begun + day + 1}), long);
    // Without `iat`, from now.
    check(&default, &json!({"exp": NOW_SECONDS + day}), Ok(()));
    check(&default, &json!({"exp": NOW_SECONDS + day + 1}), long);
    let minute = TokenRules { lifetime_max: Duration::from_mins(1), ..TokenRules::default() };
    check(&minute, &json!({"exp": NOW_SECONDS + 60}), Ok(()));
    check(&minute, &json!({"exp": NOW_SECONDS + 61}), long);
}

#[test]
fn a_revoked_token_is_invalid() {
    let rules = TokenRules { revoked: Arc::new([token_id_digest("t-1")].into()), ..TokenRules::default() };
    check(&rules, &json!({"jti": "t-1"}), Err(TokenError::Revoked));
    check(&rules, &json!({"jti": "t-2"}), Ok(()));
    check(&rules, &json!({}), Ok(()));
    check(&rules, &json!({"jti": 1}), claim("jti"));
    let signer = Signer::hs256();
    let token = signer.token(&with(&json!({"jti": "t-1"})));
    let other = Signer::Hs256(vec![1; 32]);
    let forged = verify_under(&rules, (&token, &[other.key("a")]), Timestamp(NOW.0));
    assert_eq!(forged.map(drop), Err(TokenError::BadSignature));
}
