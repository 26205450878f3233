//! The session of a frontend's caller: issued, verified, renewed; or chosen, where the agent is open.

use ::identity::{ISSUED_OWNER_PREFIX, IssuedSession, SESSION_TOKEN_PREFIX, SessionIssuer};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use domain::{SessionId, Timestamp, Violation, ViolationReason};
use event_log::registry::{KeyPurpose, TenantKey};
use runtime::http::HttpProblem;
use wire::status::Problem;

use super::frontend::Frontend;
use super::session_renewal::{Transport, handed_over};
use super::state::HttpState;
use super::{caller_refusal, problem, session_renewal};
use crate::identity::{IdentityRule, Refusal};

/// A session that was issued a moment ago.
pub(super) struct NewSession {
    /// The header that hands it over.
    pub(super) header: Option<(HeaderName, HeaderValue)>,
    /// What the caller shows from now on.
    pub(super) token: String,
    /// When it ends, unless it is used before.
    pub(super) expires_at: Timestamp,
}

impl Frontend {
    /// The owner of an issued session: the one that the body shows, else the header's, else the cookie's. An id of the caller's
    /// choice is none, under every rule.
    ///
    /// # Errors
    /// As [`Frontend::caller`].
    pub fn issued_session(
        &self,
        state: &HttpState,
        shown: Option<String>,
    ) -> Result<SessionId, HttpProblem> {
        let named = shown.or_else(|| self.named.session_id.clone());
        let (shown, transport) = match (named, &self.cookie) {
            (Some(shown), _) => (shown, Transport::Header),
            (None, Some(cookie)) => (cookie.clone(), Transport::Cookie),
            (None, None) => return Err(caller_refusal::of(&Refusal::SessionMissing)),
        };
        let owner = self.verified_session(state, &shown, transport);
        owner.map_err(|refusal| caller_refusal::of(&refusal))
    }

    /// A new session with the header that hands it over, and its token.
    ///
    /// # Errors
    /// 403 `COOKIE_NOT_ALLOWED` where the page's origin is not listed by name; 503 without the tenant's key.
    pub(super) fn issue(
        &self,
        state: &HttpState,
        transport: Transport,
    ) -> Result<NewSession, HttpProblem> {
        if transport == Transport::Cookie && !self.is_from_listed_page {
            let detail = "a cookie is for pages whose origin the API key lists by name: list it, or take the session as a header";
            let status = StatusCode::FORBIDDEN;
            return Err(HttpProblem::new(status, "COOKIE_NOT_ALLOWED", detail));
        }
        let session =
            IssuedSession::new(rand::random(), state.now(), state.section.session_age_max());
        let key = self.session_key(state);
        let key = key.map_err(|refusal| caller_refusal::of(&refusal))?;
        let token = self.issuer(&key).token(&session);
        Ok(NewSession {
            header: handed_over(transport, &self.key.access.agent, &token),
            token,
            expires_at: session.expires_at(),
        })
    }

    /// The owner that a named session stands for, or the cookie's. A cookie that does not hold is none: the page cannot take
    /// it back.
    pub(super) fn session(
        &self,
        state: &HttpState,
        named: Option<String>,
    ) -> Result<Option<SessionId>, HttpProblem> {
        let Some(shown) = named else {
            let cookie = self.cookie.as_deref();
            let verified =
                cookie.map(|cookie| self.verified_session(state, cookie, Transport::Cookie));
            let owner = verified.and_then(Result::ok);
            return owner.map(|owner| self.counted(state, owner)).transpose();
        };
        let is_open = self.rule(state) == IdentityRule::Open;
        let owner = if is_open && !shown.starts_with(SESSION_TOKEN_PREFIX) {
            let chosen = chosen_session(shown);
            chosen.map_err(|broken| problem::of(Problem::from(broken.within("sessionId"))))?
        } else {
            let verified = self.verified_session(state, &shown, Transport::Header);
            verified.map_err(|refusal| caller_refusal::of(&refusal))?
        };
        self.counted(state, owner).map(Some)
    }

    fn counted(&self, state: &HttpState, owner: SessionId) -> Result<SessionId, HttpProblem> {
        let (key, limits) = (&self.key.api_key_id, &state.limits);
        limits.admit_session(&self.extensions, key, owner.as_str())?;
        Ok(owner)
    }

    /// The owner of a session that holds; the answer renews it when it is due.
    fn verified_session(
        &self,
        state: &HttpState,
        token: &str,
        transport: Transport,
    ) -> Result<SessionId, Refusal> {
        let key = self.session_key(state)?;
        let issuer = self.issuer(&key);
        let (now, age_max) = (state.now(), state.section.session_age_max());
        let session = issuer.verify(token, now, age_max)?;
        if let Some(renewed) = session.renewed(now, age_max) {
            let token = issuer.token(&renewed);
            let header = handed_over(transport, &self.key.access.agent, &token);
            session_renewal::offer(&self.extensions, header);
        }
        issuer.owner(&session).ok_or(Refusal::SessionMissing)
    }

    fn session_key(&self, state: &HttpState) -> Result<TenantKey, Refusal> {
        let tenant = self.key.access.tenant.tenant();
        let key = state
            .gateway
            .registry
            .tenant_key(tenant, KeyPurpose::Session);
        key.ok_or(Refusal::SessionKeyMissing)
    }

    fn issuer<'a>(&'a self, key: &TenantKey) -> SessionIssuer<'a> {
        let access = &self.key.access;
        SessionIssuer::new(key.as_bytes(), access.tenant.tenant(), &access.agent)
    }
}

/// A session as the caller chooses it: never an owner that was issued.
fn chosen_session(shown: String) -> Result<SessionId, Violation> {
    if shown.starts_with(ISSUED_OWNER_PREFIX) {
        let rule = "begins with `issued:`, which is reserved: send the issued session itself";
        return Err(Violation::new(ViolationReason::Malformed, rule));
    }
    SessionId::parse(shown)
}
