//! The cookie of positions, for browsers whose session is a cookie.
//!
//! Such a page need not handle `x-position-token`: responses to its writes set this cookie, and its later requests are
//! fenced by it. It has the same host and paths as the session's cookie, and scripts cannot read it. Invalid tokens are
//! ignored: the page cannot remove them.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use domain::AgentId;

use super::session_cookie;

/// Prefix of the cookie's name. Agent ids have no dot, so no session cookie has this name.
const NAME_PREFIX: &str = "__Host-hansard.position-";
/// Lifetime of the cookie. Replicas and rows lag less than this.
pub(in crate::http) const POSITION_COOKIE_LIFETIME: Duration = Duration::from_mins(5);
/// Separates tokens. Cookies cannot contain a comma.
pub(in crate::http) const SEPARATOR: char = '.';

/// The value of the agent's cookie.
#[must_use]
pub(in crate::http) fn read(headers: &HeaderMap, agent: &AgentId) -> Option<String> {
    session_cookie::value(headers, &format!("{NAME_PREFIX}{agent}"))
}

/// The header that sets the agent's cookie; `None` if the tokens cannot be in a cookie.
#[must_use]
pub(in crate::http) fn set(agent: &AgentId, tokens: &str) -> Option<HeaderValue> {
    let age_s = POSITION_COOKIE_LIFETIME.as_secs();
    let cookie = format!(
        "{NAME_PREFIX}{agent}={tokens}; Path=/; Max-Age={age_s}; Secure; HttpOnly; SameSite=Strict"
    );
    HeaderValue::try_from(cookie).ok()
}
