//! The positions of a browser's session, in a cookie beside the session's.
//!
//! A page whose session is a cookie need not handle `x-position-token`: answers to its writes set this cookie, and its later
//! requests are fenced by it. It is set for the same host and paths as the session's, and no script reads it. A cookie that
//! holds no valid token is ignored: the page cannot mend it.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use domain::AgentId;

use super::session_cookie;

/// What the cookie's name begins with. No agent id has a dot, so no session's cookie has this name.
const NAME_PREFIX: &str = "__Host-hansard.position-";
/// How long a browser keeps it: replicas and rows are behind for less.
pub(super) const POSITION_COOKIE_LIFETIME: Duration = Duration::from_mins(5);
/// Stands between tokens. A comma may not be in a cookie.
pub(super) const SEPARATOR: char = '.';

/// The value of the agent's cookie.
#[must_use]
pub(super) fn read(headers: &HeaderMap, agent: &AgentId) -> Option<String> {
    session_cookie::value(headers, &format!("{NAME_PREFIX}{agent}"))
}

/// The header that sets the agent's cookie; `None` where the tokens could not be in one.
#[must_use]
pub(super) fn set(agent: &AgentId, tokens: &str) -> Option<HeaderValue> {
    let age_s = POSITION_COOKIE_LIFETIME.as_secs();
    let cookie = format!(
        "{NAME_PREFIX}{agent}={tokens}; Path=/; Max-Age={age_s}; Secure; HttpOnly; SameSite=Strict"
    );
    HeaderValue::try_from(cookie).ok()
}
