//! Accepted keys.

use identity::{HS256_SECRET_BYTES, JWKS_BYTES_MAX, JWKS_KEYS_MAX, Key, KeyError, jwk_set};
use serde_json::{Value, json};

use crate::signer::{Signer, encode, id};

#[test]
fn secrets_at_their_bounds() {
    let check = |bytes: usize, expected: Result<(), KeyError>| {
        let key = Key::hs256(&id("a"), &vec![1; bytes]);
        assert_eq!(key.map(drop), expected, "{bytes}");
    };
    check(*HS256_SECRET_BYTES.start(), Ok(()));
    check(HS256_SECRET_BYTES.start() - 1, Err(KeyError::SecretLength));
    check(*HS256_SECRET_BYTES.end(), Ok(()));
    check(HS256_SECRET_BYTES.end() + 1, Err(KeyError::SecretLength));
}

fn check(set: &str, expected: Result<usize, KeyError>) {
    let keys = jwk_set(&id("a"), set);
    assert_eq!(keys.map(|keys| keys.len()), expected);
}

fn check_keys(keys: &[Value], expected: Result<usize, KeyError>) {
    check(&json!({"keys": keys}).to_string(), expected);
}

fn with(signer: &Signer, field: &str, value: Value) -> Value {
    let mut jwk = signer.jwk();
    jwk[field] = value;
    jwk
}

#[test]
fn invalid_sets() {
    for text in ["", "[]", "{}", r#"{"keys": {}}"#, r#"{"keys": [}"#] {
        check(text, Err(KeyError::NotASet));
    }
    check(r#"{"keys": []}"#, Err(KeyError::NoneUsable));
}

#[test]
fn only_public_keys_for_signatures_are_usable() {
    let (rsa, ec, ed) = (Signer::rs256(), Signer::es256(), Signer::eddsa());
    for signer in [&rsa, &ec, &ed] {
        check_keys(&[signer.jwk()], Ok(1));
        check_keys(&[with(signer, "alg", json!(signer.algorithm()))], Ok(1));
        check_keys(&[with(signer, "use", json!("sig"))], Ok(1));
        for (field, value) in [
            ("alg", json!("HS256")),
            ("alg", json!("RS512")),
            ("alg", json!("something new")),
            ("use", json!("enc")),
            ("kty", json!("oct")),
            ("x", json!("AA")),
            ("n", json!("AA")),
        ] {
            let is_changed = signer.jwk().get(field).is_some() || !["x", "n"].contains(&field);
            if is_changed {
                let keys = [with(signer, field, value)];
                check_keys(&keys, Err(KeyError::NoneUsable));
            }
        }
    }
    check_keys(&[Signer::hs256().jwk()], Err(KeyError::NoneUsable));
    let unusable = [json!({}), json!(1), json!({"kty": "OKP", "crv": "X25519", "x": "AA"})];
    let mixed = [ed.jwk()].into_iter().chain(unusable);
    check_keys(&mixed.collect::<Vec<_>>(), Ok(1));
    check_keys(&[rsa.jwk(), ec.jwk(), ed.jwk()], Ok(3));
}

#[test]
fn moduli_at_their_bounds() {
    let rsa = |bytes: usize| with(&Signer::rs256(), "n", json!(encode(vec![0xff; bytes])));
    for (bytes, expected) in
        [(255, Err(KeyError::NoneUsable)), (256, Ok(1)), (1_024, Ok(1)), (1_025, Err(KeyError::NoneUsable))]
    {
        check_keys(&[rsa(bytes)], expected);
    }
}

#[test]
fn sets_at_their_bounds() {
    let key = Signer::eddsa().jwk();
    check_keys(&vec![key.clone(); JWKS_KEYS_MAX], Ok(JWKS_KEYS_MAX));
    check_keys(&vec![key.clone(); JWKS_KEYS_MAX + 1], Err(KeyError::TooMany));
    let set = json!({"keys": [key]}).to_string();
    let padded = |bytes: usize| format!("{set}{}", " ".repeat(bytes - set.len()));
    check(&padded(JWKS_BYTES_MAX), Ok(1));
    check(&padded(JWKS_BYTES_MAX + 1), Err(KeyError::TooLong));
}

#[test]
fn debug_hides_a_key() {
    let key = Signer::hs256().key("a");
    assert_eq!(format!("{key:?}"), "Key(..)");
}
