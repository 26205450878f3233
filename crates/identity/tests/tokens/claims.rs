//! Time, audience and scope.

use domain::Timestamp;
use identity::{TOKEN_BYTES_MAX, TokenError};
use serde_json::{Value, json};

use crate::signer::{NOW, NOW_SECONDS, Signer, check, claims, verify_at, with};

fn check_claims(more: &Value, expected: Result<&str, TokenError>) {
    let signer = Signer::hs256();
    let token = signer.token(&with(more));
    check(&token, &[signer.key("a")], expected);
}

const fn claim(claim: &'static str) -> Result<&'static str, TokenError> {
    Err(TokenError::Claim { claim })
}

/// In nanoseconds.
const LEEWAY: i64 = 30_000_000_000;

/// The bounds of the leeway of 30 seconds, to the nanosecond.
#[test]
fn times_at_their_bounds() {
    let signer = Signer::hs256();
    let keys = [signer.key("a")];
    let check_at = |claims: &Value, nanos: i64, expected: Result<(), TokenError>| {
        let now = Timestamp(NOW.0 + nanos);
        let outcome = verify_at(&signer.token(claims), &keys, now);
        assert_eq!(outcome.map(drop), expected, "{claims} {nanos}");
    };
    let expiring = with(&json!({"exp": NOW_SECONDS}));
    check_at(&expiring, LEEWAY - 1, Ok(()));
    check_at(&expiring, LEEWAY, Err(TokenError::Expired));
    for begin in ["nbf", "iat"] {
        let later = with(&json!({begin: NOW_SECONDS}));
        check_at(&later, -LEEWAY, Ok(()));
        check_at(&later, -LEEWAY - 1, Err(TokenError::NotYetValid));
    }
    let half = with(&json!({"exp": 1_789_999_970.5}));
    check_at(&half, 499_999_999, Ok(()));
    check_at(&half, 500_000_000, Err(TokenError::Expired));
}

#[test]
fn invalid_times() {
    check_claims(&json!({"exp": null}), claim("exp"));
    check_claims(&json!({"exp": "1790003600"}), claim("exp"));
    check_claims(&json!({"exp": true}), claim("exp"));
    check_claims(&json!({"exp": 1e300}), claim("exp"));
    check_claims(&json!({"exp": -1.5}), claim("exp"));
    check_claims(&json!({"exp": -1}), Err(TokenError::Expired));
    check_claims(&json!({"exp": u64::MAX}), Err(TokenError::TooLongLived));
    check_claims(&json!({"nbf": "now"}), claim("nbf"));
    check_claims(&json!({"iat": []}), claim("iat"));
    check_claims(&json!({"nbf": i64::MIN, "iat": 0}), Err(TokenError::TooLongLived));
    check_claims(&json!({"nbf": i64::MIN}), Ok("ada"));
}

#[test]
fn audiences() {
    check_claims(&json!({"aud": "hansard"}), Ok("ada"));
    check_claims(&json!({"aud": "support"}), Ok("ada"));
    check_claims(&json!({"aud": ["x", "support"]}), Ok("ada"));
    for other in [json!("sales"), json!("acme"), json!([]), json!(["x", 1]), json!({}), json!(1)] {
        check_claims(&json!({"aud": other}), Err(TokenError::WrongAudience));
    }
}

#[test]
fn subjects_tenants_and_agents() {
    check_claims(&json!({"sub": "ü@example.org"}), Ok("ü@example.org"));
    check_claims(&json!({"sub": "a".repeat(256)}), Ok(&"a".repeat(256)));
    for sub in [json!(null), json!(""), json!(7), json!("a\n"), json!("a".repeat(257))] {
        check_claims(&json!({"sub": sub}), claim("sub"));
    }
    check_claims(&json!({"tenant": "acme", "agent": "support"}), Ok("ada"));
    check_claims(&json!({"tenant": "globex"}), Err(TokenError::WrongTenant));
    check_claims(&json!({"agent": "sales"}), Err(TokenError::WrongAgent));
    check_claims(&json!({"tenant": 1}), claim("tenant"));
    check_claims(&json!({"agent": ["support"]}), claim("agent"));
    check_claims(&json!({"role": "admin", "name": {"x": [1]}}), Ok("ada"));
}

#[test]
fn the_length_of_a_token_is_bounded() {
    let signer = Signer::hs256();
    let key = signer.key("a");
    let padded = |bytes: usize| signer.token(&with(&json!({"pad": "x".repeat(bytes)})));
    // Base64 has three of four consecutive lengths.
    let lengths = (5_800..6_200).map(padded);
    let (fits, past): (Vec<_>, Vec<_>) = lengths.partition(|token| token.len() <= TOKEN_BYTES_MAX);
    assert!(fits.iter().any(|token| token.len() >= TOKEN_BYTES_MAX - 1));
    assert!(past.iter().any(|token| token.len() <= TOKEN_BYTES_MAX + 2));
    for token in fits {
        check(&token, std::slice::from_ref(&key), Ok("ada"));
    }
    for token in past {
        check(&token, std::slice::from_ref(&key), Err(TokenError::TooLong));
    }
}

#[test]
fn duplicate_claims_are_rejected() {
    let signer = Signer::hs256();
    let claims = claims().to_string();
    let twice = claims.replacen('{', r#"{"sub":"eve","#, 1);
    let token = signer.sign_text(r#"{"alg":"HS256"}"#, &twice);
    check(&token, &[signer.key("a")], Err(TokenError::Malformed));
}
