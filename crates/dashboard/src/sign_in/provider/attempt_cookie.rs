//! The cookie of a sign-in in progress: `__Host-hansard.sign-in`.
//!
//! It has what proves that the provider's answer belongs to a sign-in of this browser. Scripts cannot read it; it is removed
//! by the answer, and expires after ten minutes.

use axum::http::{HeaderMap, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use http_listener::cookies;
use http_listener::openid::Attempt;

const NAME: &str = "__Host-hansard.sign-in";
/// The lifetime of a sign-in at the provider, in seconds.
const AGE_MAX_S: u32 = 600;

/// The attempt of the cookie.
pub(super) fn attempt(headers: &HeaderMap) -> Option<Attempt> {
    let text = cookies::value(headers, NAME)?;
    let json = URL_SAFE_NO_PAD.decode(text).ok()?;
    serde_json::from_slice(&json).ok()
}

/// The header that sets the cookie.
pub(super) fn set(attempt: &Attempt) -> Option<HeaderValue> {
    let json = serde_json::to_vec(attempt).ok()?;
    cookie(&URL_SAFE_NO_PAD.encode(json), AGE_MAX_S)
}

/// The header that removes the cookie.
pub(super) fn clear() -> Option<HeaderValue> {
    cookie("", 0)
}

fn cookie(value: &str, age_s: u32) -> Option<HeaderValue> {
    let cookie = format!("{NAME}={value}; Path=/; Max-Age={age_s}; Secure; HttpOnly; SameSite=Lax");
    HeaderValue::try_from(cookie).ok()
}
