//! Sessions of frontends: issued, verified and renewed; or an id of the caller's choice, in identity mode `open`.

use ::identity::{ISSUED_OWNER_PREFIX, IssuedSession, SESSION_TOKEN_PREFIX, SessionError, SessionIssuer};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use domain::{SessionId, Timestamp, Violation, ViolationReason};
use registry::{KeyPurpose, TenantKey};
use runtime::http::HttpProblem;

use super::frontend::Frontend;
use super::problems;
use super::session_renewal::{self, Transport, session_header};
use crate::state::HttpState;
use conversations::identity::{IdentityRule, Refusal};

/// A session that was just issued.
pub struct NewSession {
    /// The response header that contains it.
    pub header: Option<(HeaderName, HeaderValue)>,
    /// The token that the caller sends from now on.
    pub token: String,
    /// When it expires unless it is used.
    pub expires_at: Timestamp,
}

impl Frontend {
    /// The owner of an issued session, from the body, the header or the cookie, in this order. An id of the caller's
    /// choice is rejected in every identity mode.
    ///
    /// # Errors
    /// As [`Frontend::caller`].
    pub fn issued_session(&self, state: &HttpState, token: Option<String>) -> Result<SessionId, HttpProblem> {
        let named = token.or_else(|| self.ids.session_id.clone());
        let (token, transport) = match (named, &self.cookie) {
            (Some(token), _) => (token, Transport::Header),
            (None, Some(cookie)) => (cookie.clone(), Transport::Cookie),
            (None, None) => return Err(problems::from_refusal(&Refusal::SessionMissing)),
        };
        self.verified_session(state, &token, transport).map_err(|refusal| problems::from_refusal(&refusal))
    }

    /// Issues a session.
    ///
    /// # Errors
    /// 403 `COOKIE_NOT_ALLOWED` if the key does not list the page's origin by name; 503 without the tenant's key.
    pub fn issue(&self, state: &HttpState, transport: Transport) -> Result<NewSession, HttpProblem> {
        if transport == Transport::Cookie && !self.is_from_listed_page {
            let detail =
                "a cookie is for pages whose origin the API key lists by name: list it, or use the session as a header";
            let status = StatusCode::FORBIDDEN;
            return Err(HttpProblem::new(status, "COOKIE_NOT_ALLOWED", detail));
        }
        let session = IssuedSession::new(rand::random(), state.now(), state.section.session_age_max());
        let key = self.session_key(state).map_err(|refusal| problems::from_refusal(&refusal))?;
        let token = self.issuer(&key).token(&session);
        Ok(NewSession {
            header: session_header(transport, &self.key.access.agent, &token),
            token,
            expires_at: session.expires_at(),
        })
    }

    /// The owner of the named session, or of the cookie's. An invalid cookie is ignored: the page cannot remove it.
    pub(crate) fn session(&self, state: &HttpState, named: Option<String>) -> Result<Option<SessionId>, HttpProblem> {
        let Some(token) = named else {
            let cookie = self.cookie.as_deref();
            let verified = cookie.map(|cookie| self.verified_session(state, cookie, Transport::Cookie));
            let owner = verified.and_then(Result::ok);
            return owner.map(|owner| self.counted(state, owner)).transpose();
        };
        let is_open = self.identity_rule(state) == IdentityRule::Open;
        let owner = if is_open && !token.starts_with(SESSION_TOKEN_PREFIX) {
            chosen_session(token).map_err(|violation| violation.within("sessionId"))?
        } else {
            let verified = self.verified_session(state, &token, Transport::Header);
            verified.map_err(|refusal| problems::from_refusal(&refusal))?
        };
        self.counted(state, owner).map(Some)
    }

    fn counted(&self, state: &HttpState, owner: SessionId) -> Result<SessionId, HttpProblem> {
        let (key, limits) = (&self.key.api_key_id, &state.limits);
        limits.admit_session(&self.extensions, key, owner.as_str())?;
        Ok(owner)
    }

    /// The owner of a valid session that was not revoked. The response renews the session when that is due.
    fn verified_session(&self, state: &HttpState, token: &str, transport: Transport) -> Result<SessionId, Refusal> {
        let key = self.session_key(state)?;
        let issuer = self.issuer(&key);
        let (now, age_max) = (state.now(), state.section.session_age_max());
        let session = issuer.verify(token, now, age_max)?;
        let owner = issuer.owner(&session).ok_or(Refusal::SessionMissing)?;
        if state.gateway.registry.is_session_revoked(self.key.access.tenant.tenant(), &owner) {
            return Err(SessionError::Revoked.into());
        }
        if let Some(renewed) = session.renewed(now, age_max) {
            let token = issuer.token(&renewed);
            let header = session_header(transport, &self.key.access.agent, &token);
            session_renewal::set(&self.extensions, header);
        }
        Ok(owner)
    }

    fn session_key(&self, state: &HttpState) -> Result<TenantKey, Refusal> {
        let tenant = self.key.access.tenant.tenant();
        let key = state.gateway.registry.tenant_key(tenant, KeyPurpose::Session);
        key.ok_or(Refusal::SessionKeyMissing)
    }

    fn issuer<'a>(&'a self, key: &TenantKey) -> SessionIssuer<'a> {
        let access = &self.key.access;
        SessionIssuer::new(key.as_bytes(), access.tenant.tenant(), &access.agent)
    }
}

/// A session id of the caller's choice; it must not look like the owner of an issued session.
fn chosen_session(token: String) -> Result<SessionId, Violation> {
    if token.starts_with(ISSUED_OWNER_PREFIX) {
        let rule = "starts with `issued:`, which is reserved: send the issued session itself";
        return Err(Violation::new(ViolationReason::Malformed, rule));
    }
    SessionId::parse(token)
}
