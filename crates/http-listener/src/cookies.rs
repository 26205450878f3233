//! Cookies of browsers, which scripts cannot read: the issued session, and the positions of its writes.
//!
//! Browsers send cookies for every page. So a cookie is accepted only from a page whose origin the API key lists by
//! name; `*` is not enough. Each agent has its own cookie, because one gateway serves many agents. Sources: RFC 6265bis
//! for the prefix `__Host-`; <https://www.w3.org/TR/fetch-metadata/> for `Sec-Fetch-Site`.
//!
//! A page whose session is a cookie need not handle `x-position-token`: responses to its writes set the cookie of positions,
//! and its later requests are fenced by it. It has the same host and paths as the session's cookie. Invalid tokens are
//! ignored: the page cannot remove them.

use std::time::Duration;

use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, header};
use domain::AgentId;
use identity::SESSION_LIFETIME;

use crate::cors;

/// Prefix of the name of the session's cookie: browsers accept such a cookie only over TLS, for one host and all of its paths.
const SESSION_PREFIX: &str = "__Host-hansard-";
/// Prefix of the name of the cookie of positions. Agent ids have no dot, so no session cookie has this name.
const POSITION_PREFIX: &str = "__Host-hansard.position-";
/// Lifetime of the cookie of positions. Replicas and rows lag less than this.
const POSITION_LIFETIME: Duration = Duration::from_mins(5);
/// Separates tokens of positions. Cookies cannot contain a comma.
pub(super) const SEPARATOR: char = '.';
const FETCH_SITE: &str = "sec-fetch-site";

/// Whether a request is from a page whose origin is listed by name.
pub(super) fn is_from_listed_page(parts: &Parts, allowed: &[String]) -> bool {
    page_origin(parts).is_some_and(|origin| cors::is_listed(origin.as_bytes(), allowed))
}

/// The session in the agent's cookie.
pub(super) fn session(headers: &HeaderMap, agent: &AgentId) -> Option<String> {
    value(headers, &format!("{SESSION_PREFIX}{agent}"))
}

/// The header that sets the agent's cookie of the session; `None` if the token cannot be in a cookie.
pub(super) fn set_session(agent: &AgentId, token: &str) -> Option<HeaderValue> {
    set(SESSION_PREFIX, agent, token, SESSION_LIFETIME)
}

/// The value of the agent's cookie of positions.
pub(super) fn positions(headers: &HeaderMap, agent: &AgentId) -> Option<String> {
    value(headers, &format!("{POSITION_PREFIX}{agent}"))
}

/// The header that sets the agent's cookie of positions; `None` if the tokens cannot be in a cookie.
pub(super) fn set_positions(agent: &AgentId, tokens: &str) -> Option<HeaderValue> {
    set(POSITION_PREFIX, agent, tokens, POSITION_LIFETIME)
}

/// The value of a cookie.
#[must_use]
pub fn value(headers: &HeaderMap, name: &str) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter();
    let mut pairs = cookies
        .filter_map(|cookies| cookies.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='));
    let (_, value) = pairs.find(|(named, _)| *named == name)?;
    Some(value.to_owned())
}

fn set(prefix: &str, agent: &AgentId, value: &str, age: Duration) -> Option<HeaderValue> {
    let age_s = age.as_secs();
    let cookie = format!("{prefix}{agent}={value}; Path=/; Max-Age={age_s}; Secure; HttpOnly; SameSite=Strict");
    HeaderValue::try_from(cookie).ok()
}

/// The origin of the page. Browsers send no `Origin` for reads within the page's own origin, and mark them with
/// `Sec-Fetch-Site`.
fn page_origin(parts: &Parts) -> Option<String> {
    if let Some(origin) = parts.headers.get(header::ORIGIN) {
        return origin.to_str().ok().map(str::to_owned);
    }
    let is_own = parts.headers.get(FETCH_SITE)?.as_bytes() == b"same-origin";
    let host = parts
        .headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .or_else(|| parts.uri.authority().map(Authority::as_str));
    // `__Host-` cookies are sent only over TLS.
    host.filter(|_| is_own).map(|host| format!("https://{host}"))
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn parts(headers: &[(&str, &str)]) -> Parts {
        let request = headers.iter().fold(Request::get("/"), |request, (name, value)| request.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_cookie_counts_for_pages_that_are_listed_by_name() {
        let listed = ["https://shop.example".to_owned()];
        let any = ["*".to_owned()];
        let check = |headers: &[(&str, &str)], expected: [bool; 2]| {
            let parts = parts(headers);
            let actual = [&listed, &any].map(|allowed| is_from_listed_page(&parts, allowed));
            assert_eq!(actual, expected, "{headers:?}");
        };
        check(&[], [false, false]);
        check(&[("origin", "https://shop.example")], [true, false]);
        check(&[("origin", "https://evil.example")], [false, false]);
        check(&[("origin", "null")], [false, false]);
        check(&[("origin", "*")], [false, false]);
        let own = ("sec-fetch-site", "same-origin");
        check(&[own, ("host", "shop.example")], [true, false]);
        check(&[own, ("host", "evil.example")], [false, false]);
        check(&[own], [false, false]);
        for site in ["same-site", "cross-site", "none"] {
            let headers = [("sec-fetch-site", site), ("host", "shop.example")];
            check(&headers, [false, false]);
        }
        // `Origin` has precedence.
        let evil = ("origin", "https://evil.example");
        check(&[evil, own, ("host", "shop.example")], [false, false]);
    }

    #[test]
    fn each_agent_has_its_cookie() {
        let agent = AgentId::parse("support").unwrap();
        let check = |cookies: &[&str], expected: Option<&str>| {
            let headers: Vec<_> = cookies.iter().map(|cookie| ("cookie", *cookie)).collect();
            let actual = session(&parts(&headers).headers, &agent);
            assert_eq!(actual.as_deref(), expected, "{cookies:?}");
        };
        check(&[], None);
        check(&["__Host-hansard-support=a"], Some("a"));
        check(&["x=y; __Host-hansard-support=a ;z=1"], Some("a"));
        check(&["x=y", "__Host-hansard-support=a"], Some("a"));
        check(&["__Host-hansard-sales=a"], None);
        check(&["hansard-support=a"], None);
        check(&["__host-hansard-support=a"], None);
        check(&["__Host-hansard-support"], None);
        let set = set_session(&agent, "hsess_x").unwrap();
        let expected = "__Host-hansard-support=hsess_x; Path=/; Max-Age=2592000; Secure; HttpOnly; SameSite=Strict";
        assert_eq!(set, expected);
    }
}
