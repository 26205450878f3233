//! Tokens of administrators.

use domain::Timestamp;
use identity::{TokenError, TokenRules, VerifiedAdmin, claimed_expiry, claimed_tenant, verify_admin};
use serde_json::{Value, json};

use crate::signer::{NOW, NOW_SECONDS, Signer, tenant, with};

fn check(more: &Value, expected: Result<(&str, &str), TokenError>) {
    let signer = Signer::eddsa();
    let mut claims = with(&json!({"tenant": "acme", "role": "admin"}));
    for (name, value) in more.as_object().unwrap() {
        claims[name] = value.clone();
    }
    let admin = verify(&signer.token(&claims), &signer);
    let ids = |admin: &VerifiedAdmin| {
        let (tenant, subject) = (admin.tenant().as_str(), admin.subject().as_str());
        (tenant.to_owned(), subject.to_owned())
    };
    let expected = expected.map(|(tenant, subject)| (tenant.to_owned(), subject.to_owned()));
    assert_eq!(admin.as_ref().map(ids).map_err(|error| *error), expected, "{more}");
}

fn verify(token: &str, signer: &Signer) -> Result<VerifiedAdmin, TokenError> {
    let rules = TokenRules::default();
    verify_admin(token, &[signer.key("a")], &tenant("acme"), &rules, NOW)
}

const fn claim(claim: &'static str) -> Result<(&'static str, &'static str), TokenError> {
    Err(TokenError::Claim { claim })
}

#[test]
fn claims_of_administrators_are_checked() {
    check(&json!({}), Ok(("acme", "ada")));
    check(&json!({"aud": ["hansard"]}), Ok(("acme", "ada")));
    check(&json!({"aud": "support"}), Err(TokenError::WrongAudience));
    check(&json!({"tenant": "globex"}), Err(TokenError::WrongTenant));
    check(&json!({"tenant": null}), claim("tenant"));
    check(&json!({"tenant": "a.b"}), claim("tenant"));
    check(&json!({"role": null}), Err(TokenError::NotAdmin));
    check(&json!({"role": "Admin"}), Err(TokenError::NotAdmin));
    check(&json!({"role": ["admin"]}), claim("role"));
    check(&json!({"sub": null}), claim("sub"));
    check(&json!({"exp": NOW_SECONDS - 31}), Err(TokenError::Expired));
    check(&json!({"nbf": NOW_SECONDS + 31}), Err(TokenError::NotYetValid));
}

#[test]
fn the_claimed_tenant_is_not_verified() {
    let (signer, other) = (Signer::hs256(), Signer::Hs256(vec![1; 32]));
    let token = other.token(&with(&json!({"tenant": "acme", "role": "admin"})));
    assert_eq!(claimed_tenant(&token), Ok(tenant("acme")));
    assert_eq!(verify(&token, &signer), Err(TokenError::BadSignature));
    let bare = other.token(&with(&json!({})));
    assert_eq!(claimed_tenant(&bare), Err(TokenError::Claim { claim: "tenant" }));
    assert_eq!(claimed_tenant("x"), Err(TokenError::Malformed));
    assert_eq!(claimed_tenant(&"x".repeat(8_193)), Err(TokenError::TooLong));
}

#[test]
fn the_claimed_expiry_is_not_verified() {
    let other = Signer::Hs256(vec![1; 32]);
    let expiry = |exp: Value| claimed_expiry(&other.token(&with(&json!({"exp": exp}))));
    assert_eq!(expiry(json!(1)), Ok(Some(Timestamp(1_000_000_000))));
    for exp in [Value::Null, json!("soon"), json!(u64::MAX)] {
        assert_eq!(expiry(exp.clone()), Ok(None), "{exp}");
    }
    assert_eq!(claimed_expiry("x"), Err(TokenError::Malformed));
    assert_eq!(claimed_expiry(&"x".repeat(8_193)), Err(TokenError::TooLong));
}
