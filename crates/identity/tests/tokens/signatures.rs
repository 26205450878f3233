//! Signatures and keys.

use identity::{KEYS_TRIED_MAX, Key, TokenError, jwk_set};
use serde_json::{Value, json};

use crate::signer::{Signer, check, claims, encode, id};

#[test]
fn keys_verify_only_tokens_of_their_algorithm() {
    let signers = Signer::all();
    for signer in &signers {
        for other in &signers {
            let expected =
                if signer.algorithm() == other.algorithm() { Ok("ada") } else { Err(TokenError::UnknownKey) };
            check(&signer.token(&claims()), &[other.key("a")], expected);
        }
        let keys: Vec<Key> = signers.iter().map(|signer| signer.key("a")).collect();
        check(&signer.token(&claims()), &keys, Ok("ada"));
        check(&signer.token(&claims()), &[], Err(TokenError::UnknownKey));
    }
}

/// A public key is never used as a secret, whatever the header of a token contains (RFC 8725, 2.1).
#[test]
fn a_public_key_is_never_used_as_a_secret() {
    for signer in [Signer::rs256(), Signer::es256(), Signer::eddsa()] {
        let key = signer.key("a");
        let jwk = signer.jwk();
        for field in ["n", "x"] {
            let Some(public) = jwk[field].as_str() else {
                continue;
            };
            for secret in [public.as_bytes().to_vec(), jwk.to_string().into_bytes()] {
                let forged = Signer::Hs256(secret).token(&claims());
                check(&forged, std::slice::from_ref(&key), Err(TokenError::UnknownKey));
            }
        }
    }
}

#[test]
fn invalid_headers() {
    let signer = Signer::hs256();
    let key = signer.key("a");
    let check = |header: Value, expected| {
        let token = signer.sign(&header, &claims());
        check(&token, std::slice::from_ref(&key), expected);
    };
    check(json!({"alg": "HS256", "kid": "a", "extra": 1}), Ok("ada"));
    for algorithm in ["none", "None", "NONE", "", "hs256", "HS1"] {
        check(json!({"alg": algorithm}), Err(TokenError::Malformed));
    }
    for algorithm in ["HS384", "HS512", "RS256", "RS384", "PS256", "ES256", "ES384", "EdDSA"] {
        check(json!({"alg": algorithm}), Err(TokenError::UnknownKey));
    }
    check(json!({}), Err(TokenError::Malformed));
    check(json!({"alg": "HS256", "kid": "b"}), Err(TokenError::UnknownKey));
    check(json!({"alg": "HS256", "kid": ""}), Err(TokenError::UnknownKey));
    check(json!({"alg": "HS256", "crit": ["b64"], "b64": false}), Err(TokenError::Malformed));
    check(json!({"alg": "HS256", "zip": "DEF"}), Err(TokenError::Malformed));
    // Keys and key URLs in the header are ignored.
    let own = Signer::eddsa();
    let header = json!({"alg": "EdDSA", "jwk": own.jwk(), "jku": "https://evil.example/"});
    let token = own.sign(&header, &claims());
    crate::signer::check(&token, &[signer.key("a")], Err(TokenError::UnknownKey));
}

#[test]
fn invalid_tokens() {
    let signer = Signer::hs256();
    let token = signer.token(&claims());
    let parts: Vec<&str> = token.split('.').collect();
    let [header, claims, signature] = parts[..] else { panic!("{token}") };
    let none = encode(r#"{"alg":"none"}"#);
    for text in [
        String::new(),
        "..".to_owned(),
        "ü".to_owned(),
        format!("{header}.{claims}"),
        format!("{none}.{claims}."),
        format!("{token}.{signature}"),
        format!(" {token}"),
        format!("{header}=.{claims}.{signature}"),
        format!("{}.{claims}.{signature}", encode("[]")),
    ] {
        check(&text, &[signer.key("a")], Err(TokenError::Malformed));
    }
    let unsigned = format!("{header}.{claims}.");
    check(&unsigned, &[signer.key("a")], Err(TokenError::BadSignature));
}

#[test]
fn a_kid_selects_its_key() {
    let signer = Signer::hs256();
    let other = |number: usize| Key::hs256(&id(&format!("k{number}")), &[7; 32]).unwrap();
    let named = |kid: &str| signer.sign(&json!({"alg": "HS256", "kid": kid}), &claims());
    let keys = [other(1), signer.key("mine"), other(2)];
    check(&named("mine"), &keys, Ok("ada"));
    check(&named("k1"), &keys, Err(TokenError::BadSignature));
    check(&signer.token(&claims()), &keys, Ok("ada"));
    let after = |others: usize| {
        let mut keys: Vec<Key> = (0..others).map(other).collect();
        keys.push(signer.key("mine"));
        keys
    };
    check(&signer.token(&claims()), &after(KEYS_TRIED_MAX - 1), Ok("ada"));
    let untried = after(KEYS_TRIED_MAX);
    check(&signer.token(&claims()), &untried, Err(TokenError::BadSignature));
    check(&named("mine"), &untried, Ok("ada"));
}

#[test]
fn keys_of_a_set_have_their_own_ids() {
    let (first, second) = (Signer::eddsa(), Signer::es256());
    let mut named = first.jwk();
    named["kid"] = json!("rotating-1");
    let set = json!({"keys": [named, second.jwk()]}).to_string();
    let keys = jwk_set(&id("provider"), &set).unwrap();
    let by = |signer: &Signer, kid: &str| signer.sign(&json!({"alg": signer.algorithm(), "kid": kid}), &claims());
    check(&by(&first, "rotating-1"), &keys, Ok("ada"));
    check(&by(&first, "provider"), &keys, Err(TokenError::UnknownKey));
    check(&by(&second, "provider"), &keys, Ok("ada"));
}
