//! Rules of tenants for tokens.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{SessionId, Timestamp};
use identity::{LIFETIME_MAX_DEFAULT, TokenError, TokenRules, session_digest, token_digest, token_id_digest};
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

#[test]
fn a_token_without_an_id_is_revoked_by_its_digest() {
    for signer in Signer::all() {
        let token = signer.token(&with(&json!({})));
        let other = signer.token(&with(&json!({"sub": "eve"})));
        let rules = TokenRules { revoked: Arc::new([token_digest(&token).unwrap()].into()), ..TokenRules::default() };
        let verify = |token: &str| verify_under(&rules, (token, &[signer.key("a")]), NOW).map(drop);
        assert_eq!(verify(&token), Err(TokenError::Revoked), "{}", signer.algorithm());
        assert_eq!(verify(&other), Ok(()), "{}", signer.algorithm());
    }
}

/// Whoever has an ES256 token can negate the second half of its signature, modulo the order of the curve.
#[test]
fn a_revoked_token_stays_revoked_with_another_valid_signature() {
    let signer = Signer::es256();
    let token = signer.token(&with(&json!({})));
    let (content, signature) = token.rsplit_once('.').unwrap();
    let mut bytes = URL_SAFE_NO_PAD.decode(signature).unwrap();
    negate(&mut bytes[32..]);
    let rewritten = format!("{content}.{}", URL_SAFE_NO_PAD.encode(bytes));
    assert_ne!(rewritten, token);
    let verify = |rules: &TokenRules, token: &str| verify_under(rules, (token, &[signer.key("a")]), NOW).map(drop);
    assert_eq!(verify(&TokenRules::default(), &rewritten), Ok(()));
    let rules = TokenRules { revoked: Arc::new([token_digest(&token).unwrap()].into()), ..TokenRules::default() };
    assert_eq!(verify(&rules, &rewritten), Err(TokenError::Revoked));
}

/// Replaces a number by its negative modulo the order of P-256 (FIPS 186-4, D.1.2.3). Big endian.
fn negate(number: &mut [u8]) {
    const ORDER: &str = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
    let order = (0..64).step_by(2).map(|at| u8::from_str_radix(&ORDER[at..at + 2], 16).unwrap());
    let order: Vec<u8> = order.collect();
    let mut borrow = 0;
    for at in (0..32).rev() {
        let difference = i16::from(order[at]) - i16::from(number[at]) - borrow;
        borrow = i16::from(difference < 0);
        number[at] = u8::try_from(difference.rem_euclid(256)).unwrap();
    }
}

#[test]
fn only_texts_of_three_parts_are_tokens() {
    for text in ["", "a", "a.b", "a.b.c.d", "a.b.c.d.e"] {
        assert_eq!(token_digest(text), Err(TokenError::Malformed), "{text}");
    }
    assert_eq!(token_digest("a.b.c"), token_digest("a.b.d"));
    assert_ne!(token_digest("a.b.c"), token_digest("a.c.c"));
    let session = SessionId::parse("issued:a").unwrap();
    assert_ne!(session_digest(&session), token_id_digest(session.as_str()));
}
