//! Callers with an agent's public API key.

use std::fmt;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, StatusCode, header};
use domain::{Owner, SessionId, UserId};
use registry::FrontendKey;
use runtime::http::HttpProblem;
use wire::status::Reason;

use super::headers::{CallerIds, check_query, header_text};
use super::problems;
use crate::state::HttpState;
use crate::{cookies, cors, positions};
use conversations::identity::{Caller, Claims, IdentityRule, Refusal};
use conversations::open::{OwnedChat, find_latest_chat};
use conversations::quotas::account::RequestSource;

const API_KEY_HEADER: &str = "x-api-key";
const USER_TOKEN_HEADER: &str = "x-user-token";
const BEARER: &str = "Bearer ";

/// A caller with a valid API key, from an allowed origin, within the rate limit of the key. These are checked first.
/// `Debug` hides secrets.
pub struct Frontend {
    /// The key.
    pub key: FrontendKey,
    /// The key and the address that usage is counted for.
    pub via: RequestSource,
    /// The ids that the headers name.
    pub(crate) ids: CallerIds,
    /// The session in the agent's cookie, if the page may use one.
    pub(crate) cookie: Option<String>,
    /// Whether the request is from a page whose origin the key lists by name.
    pub(crate) is_from_listed_page: bool,
    user_token: Option<String>,
    /// The extensions of the request, which the layers around it read.
    pub(crate) extensions: Extensions,
}

impl fmt::Debug for Frontend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frontend({})", self.key.api_key_id)
    }
}

impl FromRequestParts<HttpState> for Frontend {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Self::Rejection> {
        let secret = api_key(&parts.headers).ok_or_else(unauthenticated)?;
        let key = state.gateway.registry.authenticate_api_key(secret, state.now()).await.ok_or_else(unauthenticated)?;
        cors::admit(parts, &key.allowed_origins)?;
        positions::check()?;
        state.limits.admit_key(parts, &key.api_key_id)?;
        check_query(parts.uri.query())?;
        let is_from_listed_page = cookies::is_from_listed_page(parts, &key.allowed_origins);
        let cookie = is_from_listed_page.then(|| cookies::session(&parts.headers, &key.access.agent)).flatten();
        let ids = CallerIds::from_headers(&parts.headers)?;
        if cookie.is_some() && ids.session_id.is_none() {
            positions::use_cookie(&parts.headers, &key.access.agent);
        }
        let via = RequestSource {
            api_key_id: Some(key.api_key_id.clone()),
            address: state.limits.address_of(&parts.extensions, &parts.headers),
        };
        Ok(Self {
            key,
            via,
            ids,
            cookie,
            is_from_listed_page,
            user_token: header_text(&parts.headers, USER_TOKEN_HEADER)?,
            extensions: parts.extensions.clone(),
        })
    }
}

impl Frontend {
    /// The caller, from headers, cookie and, where it has such members, the body.
    ///
    /// # Errors
    /// 400 if two callers are named, or a name is invalid; 401 if no caller is named, or if a session or a user's token
    /// is missing or invalid; 403 `USER_MISMATCH`; 429 `RATE_LIMITED` of the session; 503 if keys cannot be fetched.
    pub async fn caller(&self, state: &HttpState, body: CallerIds) -> Result<Caller, HttpProblem> {
        let claimed = self.claimed(state, body).await?;
        let caller = Caller::resolve(self.key.access.clone(), self.identity_rule(state), claimed);
        caller.map_err(|refusal| problems::from_refusal(&refusal))
    }

    /// The caller's conversation with this id, read from the stream's leader. Headers name the caller.
    ///
    /// # Errors
    /// As [`Frontend::caller`] and [`find_latest_chat`].
    pub async fn chat(&self, state: &HttpState, id: &str) -> Result<OwnedChat, HttpProblem> {
        let caller = self.caller(state, CallerIds::default()).await?;
        Ok(find_latest_chat(state, &caller, id).await?)
    }

    /// The caller of a listing: the user of the token, or the session if the request names no user.
    ///
    /// # Errors
    /// As [`Frontend::caller`]; a user's name without a token is rejected in every identity mode.
    pub async fn listing_caller(&self, state: &HttpState) -> Result<Caller, HttpProblem> {
        let claimed = self.claimed(state, CallerIds::default()).await?;
        if claimed.user.is_some() || claimed.verified.is_some() {
            return self.resolve_user(claimed);
        }
        self.caller_of_session(claimed.session)
    }

    /// The user of the token. If the request names a user, it must be the same one.
    ///
    /// # Errors
    /// As [`Frontend::caller`]; 401 `USER_TOKEN_REQUIRED` without a token.
    pub async fn user(&self, state: &HttpState) -> Result<Caller, HttpProblem> {
        let claimed = self.claimed(state, CallerIds::default()).await?;
        self.resolve_user(claimed)
    }

    /// Rejects an agent other than the key's; no agent is accepted.
    ///
    /// # Errors
    /// 404 `AGENT_NOT_FOUND`: a foreign agent and a missing one get the same answer.
    pub fn check_agent(&self, agent: Option<&str>) -> Result<(), HttpProblem> {
        if agent.is_none_or(|agent| agent == self.key.access.agent.as_str()) {
            return Ok(());
        }
        let detail = "agentId is not the agent of the API key: leave it out, or use that agent's key";
        let code = Reason::AgentNotFound.as_str();
        Err(HttpProblem::new(StatusCode::NOT_FOUND, code, detail).in_field("agentId"))
    }

    /// The identity mode of the agent.
    #[must_use]
    pub fn identity_rule(&self, state: &HttpState) -> IdentityRule {
        let agent = state.gateway.registry.agent(&self.key.access.agent);
        agent.as_ref().map_or(IdentityRule::Issued, IdentityRule::of)
    }

    fn caller_of_session(&self, session: Option<SessionId>) -> Result<Caller, HttpProblem> {
        let session = session.ok_or_else(|| problems::from_refusal(&Refusal::SessionMissing))?;
        Ok(Caller { access: self.key.access.clone(), owner: Owner::Session(session), verified: false })
    }

    fn resolve_user(&self, claimed: Claims) -> Result<Caller, HttpProblem> {
        Caller::resolve_lister(self.key.access.clone(), claimed).map_err(|refusal| problems::from_refusal(&refusal))
    }

    async fn claimed(&self, state: &HttpState, body: CallerIds) -> Result<Claims, HttpProblem> {
        let ids = CallerIds::merged(&[self.ids.clone(), body])?;
        let session = self.session(state, ids.session_id)?;
        let user = ids.user_id.map(UserId::parse).transpose().map_err(|violation| violation.within("userId"))?;
        let verified = match &self.user_token {
            Some(token) => {
                let keys = &state.gateway.token_keys;
                let verified = keys.user(&self.key.access, token, state.now()).await;
                Some(verified.map_err(|refusal| problems::from_refusal(&refusal))?)
            }
            None => None,
        };
        Ok(Claims { session, user, verified })
    }
}

/// The API key in `x-api-key`, or the bearer token.
#[must_use]
pub fn api_key(headers: &HeaderMap) -> Option<&str> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = || header(header::AUTHORIZATION.as_str())?.strip_prefix(BEARER);
    header(API_KEY_HEADER).or_else(bearer)
}

/// Missing, unknown, revoked and expired keys get the same answer.
fn unauthenticated() -> HttpProblem {
    let detail = "a valid API key is required: send it as the header x-api-key";
    HttpProblem::new(StatusCode::UNAUTHORIZED, Reason::Unauthenticated.as_str(), detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_in_either_header() {
        let check = |headers: &[(&'static str, &str)], expected| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, value.parse().unwrap());
            }
            assert_eq!(api_key(&map), expected);
        };
        check(&[], None);
        check(&[("x-api-key", "a")], Some("a"));
        check(&[("authorization", "Bearer b")], Some("b"));
        check(&[("authorization", "Basic b")], None);
        check(&[("x-api-key", "a"), ("authorization", "Bearer b")], Some("a"));
    }
}
