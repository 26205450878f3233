//! Tokens that a tenant signs for its users and administrators.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use runtime::clock::Clock;
use serde_json::{Value, json};

/// How long the tokens of [`user`] and [`admin`] are valid, in seconds.
const HOLDS_S: i64 = 3_600;

/// Seconds since the Unix epoch, with this offset.
#[must_use]
pub fn seconds_from_now(seconds: i64) -> i64 {
    Clock::System.now_nanos() / 1_000_000_000 + seconds
}

/// A token with these claims, signed with HS256.
#[must_use]
pub fn hs256(secret: &str, claims: &Value) -> String {
    let header = json!({"alg": "HS256", "typ": "JWT"});
    let parts = [header.to_string(), claims.to_string()];
    let message = parts.map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, message.as_bytes()));
    format!("{message}.{signature}")
}

/// A valid token of a user.
#[must_use]
pub fn user(secret: &str, user: &str) -> String {
    hs256(secret, &json!({"sub": user, "exp": seconds_from_now(HOLDS_S)}))
}

/// A valid token of an administrator.
#[must_use]
pub fn admin(secret: &str, tenant: &str) -> String {
    let exp = seconds_from_now(HOLDS_S);
    hs256(secret, &json!({"sub": "root", "tenant": tenant, "role": "admin", "exp": exp}))
}
