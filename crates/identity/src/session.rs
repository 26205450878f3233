//! Issued sessions: anonymous callers with an owner id that cannot be guessed.
//!
//! The token of a session contains 128 random bits, the time of issue and an expiry, with an HMAC-SHA256 over these, the
//! tenant and the agent. The stored owner is another HMAC of the random bits, so that an owner in a log or an export does not
//! reveal the session. Sessions are not stored: each gateway verifies a token with the key of the tenant.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{AgentId, SessionId, TenantId, Timestamp};
use ring::hmac;
use thiserror::Error;

/// The prefix of session tokens.
pub const SESSION_TOKEN_PREFIX: &str = "hsess_";
/// The prefix of owners of issued sessions. Ids that callers choose must not have it.
pub const ISSUED_OWNER_PREFIX: &str = "issued:";
/// The lifetime of a session after its issue or renewal.
pub const SESSION_LIFETIME: Duration = Duration::from_hours(30 * 24);
/// Random bytes of a session: 128 bits.
pub const SESSION_RANDOM_BYTES: usize = 16;

/// Seconds since the epoch, big endian.
const TIME_BYTES: usize = 8;
const MAC_BYTES: usize = 32;
const PAYLOAD_BYTES: usize = SESSION_RANDOM_BYTES + 2 * TIME_BYTES;
const TOKEN_BYTES: usize = PAYLOAD_BYTES + MAC_BYTES;
/// Bytes of the HMAC in the owner: as many as the random bytes of a session.
const OWNER_BYTES: usize = 16;
/// The two uses of the tenant's key. The labels separate their inputs.
const TOKEN_LABEL: &[u8] = b"hansard session token 2";
const OWNER_LABEL: &[u8] = b"hansard session owner 1";

/// Why a session token is invalid. The remedy is a new session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SessionError {
    /// It was not issued for this tenant and agent, or it was modified.
    #[error("the session was not issued for this agent: get a new one")]
    NotIssued,
    /// It was not used for [`SESSION_LIFETIME`], or reached its maximum age.
    #[error("the session has expired: get a new one")]
    Expired,
    /// It was revoked.
    #[error("the session was revoked")]
    Revoked,
}

/// Issues and verifies the sessions of one agent. `Debug` hides the key.
pub struct SessionIssuer<'a> {
    key: hmac::Key,
    tenant: &'a TenantId,
    agent: &'a AgentId,
}

impl fmt::Debug for SessionIssuer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionIssuer({}, {})", self.tenant, self.agent)
    }
}

/// An issued session. `Debug` hides its random bits.
#[derive(Clone, PartialEq, Eq)]
pub struct IssuedSession {
    random: [u8; SESSION_RANDOM_BYTES],
    issued_at: Timestamp,
    expires_at: Timestamp,
}

impl fmt::Debug for IssuedSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IssuedSession(until {})", self.expires_at.seconds())
    }
}

impl IssuedSession {
    /// A new session with a lifetime of [`SESSION_LIFETIME`], at most `age_max`.
    #[must_use]
    pub fn new(random: [u8; SESSION_RANDOM_BYTES], now: Timestamp, age_max: Duration) -> Self {
        Self { random, issued_at: now, expires_at: seconds_after(now, SESSION_LIFETIME.min(age_max)) }
    }

    /// The expiry: the first time at which the session is invalid.
    #[must_use]
    pub fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// The session with a later expiry, after half of its lifetime; `None` before that, or if `age_max` allows no later
    /// expiry.
    #[must_use]
    pub fn renewed(&self, now: Timestamp, age_max: Duration) -> Option<Self> {
        let half = i64::try_from((SESSION_LIFETIME / 2).as_nanos()).unwrap_or(i64::MAX);
        let is_due = self.expires_at.0.saturating_sub(now.0) < half;
        let oldest = seconds_after(self.issued_at, age_max);
        let expires_at = seconds_after(now, SESSION_LIFETIME).min(oldest);
        (is_due && expires_at > self.expires_at).then(|| Self { expires_at, ..self.clone() })
    }

    fn payload(&self) -> [u8; PAYLOAD_BYTES] {
        let mut payload = [0; PAYLOAD_BYTES];
        let (random, times) = payload.split_at_mut(SESSION_RANDOM_BYTES);
        let (issued, expiry) = times.split_at_mut(TIME_BYTES);
        random.copy_from_slice(&self.random);
        issued.copy_from_slice(&self.issued_at.seconds().to_be_bytes());
        expiry.copy_from_slice(&self.expires_at.seconds().to_be_bytes());
        payload
    }

    fn read(payload: &[u8]) -> Option<Self> {
        let time = |bytes| Timestamp::from_parts(i64::from_be_bytes(bytes), 0);
        let (random, times) = payload.split_first_chunk()?;
        let (issued, expiry) = times.split_first_chunk()?;
        Some(Self { random: *random, issued_at: time(*issued)?, expires_at: time(expiry.try_into().ok()?)? })
    }
}

impl<'a> SessionIssuer<'a> {
    /// The issuer of the sessions of an agent, with the session key of the tenant.
    #[must_use]
    pub fn new(key: &[u8], tenant: &'a TenantId, agent: &'a AgentId) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, key), tenant, agent }
    }

    /// The token of a session: a secret.
    #[must_use]
    pub fn token(&self, session: &IssuedSession) -> String {
        let payload = session.payload();
        let mac = hmac::sign(&self.key, &self.input(TOKEN_LABEL, &payload));
        let token = [payload.as_slice(), mac.as_ref()].concat();
        format!("{SESSION_TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(token))
    }

    /// Verifies a token. The MAC is compared in constant time before the content is read. `age_max` also applies to sessions
    /// that were issued with a larger one.
    ///
    /// # Errors
    /// [`SessionError`]; a modified token is never reported as expired.
    pub fn verify(&self, token: &str, now: Timestamp, age_max: Duration) -> Result<IssuedSession, SessionError> {
        let not_issued = SessionError::NotIssued;
        let text = token.strip_prefix(SESSION_TOKEN_PREFIX).ok_or(not_issued)?;
        // One byte more than a token: longer texts are rejected.
        let mut bytes = [0; TOKEN_BYTES + 1];
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).map_err(|_| not_issued)?;
        let bytes = bytes.get(..length).filter(|_| length == TOKEN_BYTES);
        let (payload, mac) = bytes.ok_or(not_issued)?.split_at(TOKEN_BYTES - MAC_BYTES);
        hmac::verify(&self.key, &self.input(TOKEN_LABEL, payload), mac).map_err(|_| not_issued)?;
        let session = IssuedSession::read(payload).ok_or(not_issued)?;
        let oldest = seconds_after(session.issued_at, age_max);
        if now >= session.expires_at.min(oldest) {
            return Err(SessionError::Expired);
        }
        Ok(session)
    }

    /// The owner id of a session. It does not reveal the session.
    #[must_use]
    pub fn owner(&self, session: &IssuedSession) -> Option<SessionId> {
        let mac = hmac::sign(&self.key, &self.input(OWNER_LABEL, &session.random));
        let owner = URL_SAFE_NO_PAD.encode(mac.as_ref().get(..OWNER_BYTES)?);
        SessionId::parse(format!("{ISSUED_OWNER_PREFIX}{owner}")).ok()
    }

    /// The input of the HMAC. Ids contain no zero byte, and the payload of each label has a fixed length.
    fn input(&self, label: &[u8], payload: &[u8]) -> Vec<u8> {
        let (tenant, agent) = (self.tenant.as_str(), self.agent.as_str());
        [label, tenant.as_bytes(), agent.as_bytes(), payload].join(&0)
    }
}

/// In whole seconds, as in tokens.
fn seconds_after(start: Timestamp, time: Duration) -> Timestamp {
    let seconds = start.seconds().saturating_add(i64::try_from(time.as_secs()).unwrap_or(i64::MAX));
    Timestamp::from_parts(seconds, 0).unwrap_or(start)
}
