//! The cookie of the session: `__Host-hansard.dashboard`.
//!
//! Scripts cannot read it, and browsers send it over TLS only (and to loopback addresses), for this host alone. `SameSite=Lax`
//! sends it with a link from another site, never with that site's forms and images. Its token has an expiry of its own.
//! Source: RFC 6265bis.

use axum::http::{HeaderMap, HeaderValue};
use identity::DASHBOARD_SESSION_AGE_MAX;

use http_listener::cookies;

/// Agent ids have no dot, so no session of a frontend has this name.
const NAME: &str = "__Host-hansard.dashboard";

/// The token in the cookie.
pub(super) fn token(headers: &HeaderMap) -> Option<String> {
    cookies::value(headers, NAME)
}

/// The header that sets the cookie; `None` if the token cannot be in a cookie.
pub(super) fn set(token: &str) -> Option<HeaderValue> {
    cookie(token, DASHBOARD_SESSION_AGE_MAX.as_secs())
}

/// The header that removes the cookie.
pub(super) fn clear() -> Option<HeaderValue> {
    cookie("", 0)
}

fn cookie(value: &str, age_s: u64) -> Option<HeaderValue> {
    let cookie = format!("{NAME}={value}; Path=/; Max-Age={age_s}; Secure; HttpOnly; SameSite=Lax");
    HeaderValue::try_from(cookie).ok()
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;

    #[test]
    fn a_cookie_is_set_read_and_cleared() {
        let set = set("a.b.c").unwrap();
        let expected = "__Host-hansard.dashboard=a.b.c; Path=/; Max-Age=43200; Secure; HttpOnly; SameSite=Lax";
        assert_eq!(set, expected);
        let mut headers = HeaderMap::new();
        assert_eq!(token(&headers), None);
        let cookies = HeaderValue::from_static("x=y; __Host-hansard.dashboard=a.b.c");
        headers.insert(header::COOKIE, cookies);
        assert_eq!(token(&headers).as_deref(), Some("a.b.c"));
        assert!(clear().unwrap().to_str().unwrap().contains("=; Path=/; Max-Age=0"));
    }
}
