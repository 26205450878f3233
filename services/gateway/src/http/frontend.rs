//! Who calls with an agent's public API key, and whom they say they are.

use std::fmt;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, StatusCode, header};
use domain::{Owner, SessionId, UserId};
use event_log::registry::FrontendKey;
use runtime::http::HttpProblem;
use wire::status::{Problem, Reason};

pub use super::named::{CallerHeaders, Named};
use super::named::{check_query, header_text};
use super::state::HttpState;
use super::{caller_refusal, cors, positions, problem, session_cookie};
use crate::identity::{Caller, Claimed, IdentityRule, Refusal};
use crate::quotas::account::Via;

const API_KEY_HEADER: &str = "x-api-key";
const USER_TOKEN_HEADER: &str = "x-user-token";
const BEARER: &str = "Bearer ";

/// A caller whose API key is known, whose page may ask, and whose request is counted: before that, nothing else is looked
/// at. Its `Debug` hides what they show.
pub struct Frontend {
    /// The key.
    pub key: FrontendKey,
    /// How the request came in: whom what it uses counts against.
    pub via: Via,
    pub(super) named: Named,
    /// The session in the agent's cookie, where the page may use one.
    pub(super) cookie: Option<String>,
    /// Whether it comes from a page whose origin the key lists by name.
    pub(super) is_from_listed_page: bool,
    user_token: Option<String>,
    pub(super) extensions: Extensions,
}

impl fmt::Debug for Frontend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frontend({})", self.key.api_key_id)
    }
}

impl FromRequestParts<HttpState> for Frontend {
    type Rejection = HttpProblem;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &HttpState,
    ) -> Result<Self, Self::Rejection> {
        let shown = api_key(&parts.headers).ok_or_else(unauthenticated)?;
        let key = state
            .gateway
            .registry
            .authenticate_api_key(shown, state.now());
        let key = key.await.ok_or_else(unauthenticated)?;
        cors::admit(parts, &key.allowed_origins)?;
        positions::check()?;
        state.limits.admit_key(parts, &key.api_key_id)?;
        check_query(parts.uri.query())?;
        let is_from_listed_page = session_cookie::is_from_listed_page(parts, &key.allowed_origins);
        let cookie = is_from_listed_page
            .then(|| session_cookie::read(&parts.headers, &key.access.agent))
            .flatten();
        let named = Named::in_headers(&parts.headers)?;
        if cookie.is_some() && named.session_id.is_none() {
            positions::use_cookie(&parts.headers, &key.access.agent);
        }
        let via = Via {
            api_key_id: Some(key.api_key_id.clone()),
            address: state.limits.address_of(&parts.extensions, &parts.headers),
        };
        Ok(Self {
            key,
            via,
            named,
            cookie,
            is_from_listed_page,
            user_token: header_text(&parts.headers, USER_TOKEN_HEADER)?,
            extensions: parts.extensions.clone(),
        })
    }
}

impl Frontend {
    /// Whom the request comes from, as its headers and its cookie say, and its body where it has such members.
    ///
    /// # Errors
    /// 400 where two are named, or a name breaks a rule; 401 where nobody is named, or a session or a user's token is missing
    /// or does not hold; 403 `USER_MISMATCH`; 429 `RATE_LIMITED` of the session; 503 where keys cannot be fetched.
    pub async fn caller(&self, state: &HttpState, body: Named) -> Result<Caller, HttpProblem> {
        let claimed = self.claimed(state, body).await?;
        let caller = Caller::resolve(self.key.access.clone(), self.rule(state), claimed);
        caller.map_err(|refusal| caller_refusal::of(&refusal))
    }

    /// Who lists conversations: the user whom a token names, or the session where no user is spoken of.
    ///
    /// # Errors
    /// As [`Frontend::caller`]; a user's name without a token is refused under every rule.
    pub async fn lister(&self, state: &HttpState) -> Result<Caller, HttpProblem> {
        let claimed = self.claimed(state, Named::default()).await?;
        if claimed.user.is_some() || claimed.verified.is_some() {
            return self.resolve_user(claimed);
        }
        self.of_session(claimed.session)
    }

    /// The user whom a token names; the name in the request, where there is one, must be theirs.
    ///
    /// # Errors
    /// As [`Frontend::caller`]; 401 `USER_TOKEN_REQUIRED` without a token.
    pub async fn user(&self, state: &HttpState) -> Result<Caller, HttpProblem> {
        let claimed = self.claimed(state, Named::default()).await?;
        self.resolve_user(claimed)
    }

    /// Refuses an agent that is not the key's; none named is.
    ///
    /// # Errors
    /// 404 `AGENT_NOT_FOUND`: an agent of somebody else's and none are told alike.
    pub fn check_agent(&self, agent: Option<&str>) -> Result<(), HttpProblem> {
        if agent.is_none_or(|agent| agent == self.key.access.agent.as_str()) {
            return Ok(());
        }
        let detail =
            "agentId is not the agent of the API key: leave it out, or use that agent's key";
        let code = Reason::AgentNotFound.as_str();
        Err(HttpProblem {
            field: Some("agentId".to_owned()),
            ..HttpProblem::new(StatusCode::NOT_FOUND, code, detail)
        })
    }

    /// How the agent's callers are identified.
    #[must_use]
    pub fn rule(&self, state: &HttpState) -> IdentityRule {
        let agent = state.gateway.registry.agent(&self.key.access.agent);
        agent
            .as_ref()
            .map_or(IdentityRule::Issued, IdentityRule::of)
    }

    fn of_session(&self, session: Option<SessionId>) -> Result<Caller, HttpProblem> {
        let session = session.ok_or_else(|| caller_refusal::of(&Refusal::SessionMissing))?;
        Ok(Caller {
            access: self.key.access.clone(),
            owner: Owner::Session(session),
            verified: false,
        })
    }

    fn resolve_user(&self, claimed: Claimed) -> Result<Caller, HttpProblem> {
        let caller = Caller::resolve_lister(self.key.access.clone(), claimed);
        caller.map_err(|refusal| caller_refusal::of(&refusal))
    }

    async fn claimed(&self, state: &HttpState, body: Named) -> Result<Claimed, HttpProblem> {
        let named = Named::agreed(&[self.named.clone(), body])?;
        let session = self.session(state, named.session_id)?;
        let user = named.user_id.map(UserId::parse).transpose();
        let user = user.map_err(|broken| problem::of(Problem::from(broken.within("userId"))))?;
        let verified = match &self.user_token {
            Some(token) => {
                let keys = &state.gateway.token_keys;
                let verified = keys.user(&self.key.access, token, state.now()).await;
                Some(verified.map_err(|refusal| caller_refusal::of(&refusal))?)
            }
            None => None,
        };
        Ok(Claimed {
            session,
            user,
            verified,
        })
    }
}

/// The key in `x-api-key`, or as a bearer.
pub(super) fn api_key(headers: &HeaderMap) -> Option<&str> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = || header(header::AUTHORIZATION.as_str())?.strip_prefix(BEARER);
    header(API_KEY_HEADER).or_else(bearer)
}

/// No key, an unknown, a revoked and an expired one are told alike.
fn unauthenticated() -> HttpProblem {
    let detail = "a valid API key is required: send it as the header x-api-key";
    HttpProblem::new(
        StatusCode::UNAUTHORIZED,
        Reason::Unauthenticated.as_str(),
        detail,
    )
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
        check(
            &[("x-api-key", "a"), ("authorization", "Bearer b")],
            Some("a"),
        );
    }
}
