//! ID tokens of an OpenID provider.

use identity::{IdTokenRules, TokenError, verify_id_token};
use serde_json::{Value, json};

use crate::signer::{NOW, NOW_SECONDS, Signer};

const RULES: IdTokenRules<'static> = IdTokenRules { issuer: "https://login.example", client_id: "hansard", nonce: "n" };

fn check(changed: &Value, expected: Result<(), TokenError>) {
    let signer = Signer::rs256();
    let mut claims = json!({
        "iss": RULES.issuer, "aud": RULES.client_id, "sub": "ada", "nonce": RULES.nonce,
        "iat": NOW_SECONDS, "exp": NOW_SECONDS + 60,
    });
    for (name, value) in changed.as_object().unwrap() {
        claims[name] = value.clone();
    }
    let outcome = verify_id_token(&signer.token(&claims), &[signer.key("a")], RULES, NOW);
    assert_eq!(outcome.map(drop), expected, "{changed}");
}

#[test]
fn id_tokens_must_be_for_this_client_and_sign_in() {
    let claim = |claim| Err(TokenError::Claim { claim });
    check(&json!({}), Ok(()));
    check(&json!({"iss": "https://login.example/"}), Err(TokenError::WrongIssuer));
    check(&json!({"iss": null}), Err(TokenError::WrongIssuer));
    check(&json!({"aud": "other"}), Err(TokenError::WrongAudience));
    check(&json!({"aud": null}), Err(TokenError::WrongAudience));
    check(&json!({"aud": ["hansard"]}), Ok(()));
    check(&json!({"aud": ["hansard", "other"]}), Err(TokenError::WrongAudience));
    check(&json!({"aud": ["hansard", "other"], "azp": "hansard"}), Ok(()));
    check(&json!({"azp": "other"}), Err(TokenError::WrongAudience));
    check(&json!({"nonce": "other"}), claim("nonce"));
    check(&json!({"nonce": null}), claim("nonce"));
    check(&json!({"exp": NOW_SECONDS - 31}), Err(TokenError::Expired));
    check(&json!({"exp": null}), claim("exp"));
    check(&json!({"iat": null}), claim("iat"));
    check(&json!({"sub": null}), claim("sub"));
}

#[test]
fn keys_of_others_verify_nothing() {
    let (signer, other) = (Signer::eddsa(), Signer::eddsa());
    let claims = json!({"iss": RULES.issuer});
    let outcome = verify_id_token(&other.token(&claims), &[signer.key("a")], RULES, NOW);
    assert_eq!(outcome.map(drop), Err(TokenError::BadSignature));
}
