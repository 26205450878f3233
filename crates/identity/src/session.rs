//! Issued sessions: anonymous callers with an owner that nobody else can name.
//!
//! A session's token carries 128 random bits, the time of issue and an expiry, with an HMAC-SHA256 over them, the tenant and
//! the agent. The stored owner is another HMAC of the random bits: an administrator, a log or an export that shows an owner
//! shows no session. Nothing is stored: each gateway verifies a token by the tenant's key alone.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{AgentId, SessionId, TenantId, Timestamp};
use ring::hmac;
use thiserror::Error;

/// What a session's token begins with.
pub const SESSION_TOKEN_PREFIX: &str = "hsess_";
/// What the owner of an issued session begins with. No id that a caller chooses may begin with it.
pub const ISSUED_OWNER_PREFIX: &str = "issued:";
/// How long a session lives after it was issued or renewed.
pub const SESSION_LIFETIME: Duration = Duration::from_hours(30 * 24);
/// Random bytes of a session: 128 bits.
pub const SESSION_RANDOM_BYTES: usize = 16;

/// Seconds since the epoch, the highest byte first.
const TIME_BYTES: usize = 8;
const MAC_BYTES: usize = 32;
const PAYLOAD_BYTES: usize = SESSION_RANDOM_BYTES + 2 * TIME_BYTES;
const TOKEN_BYTES: usize = PAYLOAD_BYTES + MAC_BYTES;
/// Bytes of the HMAC that the owner shows: as many as a session has random ones.
const OWNER_BYTES: usize = 16;
/// The two uses of a tenant's key. Neither input can be taken for the other's.
const TOKEN_LABEL: &[u8] = b"hansard session token 2";
const OWNER_LABEL: &[u8] = b"hansard session owner 1";

/// Why a token names no session, by what the caller can do. In both cases: get a new session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SessionError {
    /// It was not issued for this tenant and agent, or was changed.
    #[error("the session was not issued for this agent")]
    NotIssued,
    /// It was not used for [`SESSION_LIFETIME`], or has reached its greatest age.
    #[error("the session has expired")]
    Expired,
}

/// Issues and verifies the sessions of one agent. Its `Debug` hides the key.
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

/// A session that was issued, as long as it lives. Its `Debug` hides what names it.
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
    /// A new session, which lives for [`SESSION_LIFETIME`] from `now`, at most for `age_max`.
    #[must_use]
    pub fn new(random: [u8; SESSION_RANDOM_BYTES], now: Timestamp, age_max: Duration) -> Self {
        Self {
            random,
            issued_at: now,
            expires_at: seconds_after(now, SESSION_LIFETIME.min(age_max)),
        }
    }

    /// When it ends: the first moment at which it is not valid.
    #[must_use]
    pub fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// The same session with a later expiry, once half of its life has passed; `None` before that, and where `age_max` allows
    /// no later one.
    #[must_use]
    pub fn renewed(&self, now: Timestamp, age_max: Duration) -> Option<Self> {
        let half = i64::try_from((SESSION_LIFETIME / 2).as_nanos()).unwrap_or(i64::MAX);
        let is_due = self.expires_at.0.saturating_sub(now.0) < half;
        let oldest = seconds_after(self.issued_at, age_max);
        let expires_at = seconds_after(now, SESSION_LIFETIME).min(oldest);
        (is_due && expires_at > self.expires_at).then(|| Self {
            expires_at,
            ..self.clone()
        })
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
        Some(Self {
            random: *random,
            issued_at: time(*issued)?,
            expires_at: time(expiry.try_into().ok()?)?,
        })
    }
}

impl<'a> SessionIssuer<'a> {
    /// The issuer of an agent's sessions, by the tenant's key for sessions.
    #[must_use]
    pub fn new(key: &[u8], tenant: &'a TenantId, agent: &'a AgentId) -> Self {
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, key),
            tenant,
            agent,
        }
    }

    /// The token that a caller shows: a secret.
    #[must_use]
    pub fn token(&self, session: &IssuedSession) -> String {
        let payload = session.payload();
        let mac = hmac::sign(&self.key, &self.input(TOKEN_LABEL, &payload));
        let token = [payload.as_slice(), mac.as_ref()].concat();
        format!("{SESSION_TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(token))
    }

    /// The session that a token shows. The MAC is compared in constant time, before anything else of it is read. `age_max`
    /// counts also for sessions that were issued under a greater one.
    ///
    /// # Errors
    /// [`SessionError`]; a changed token is never told to have expired.
    pub fn verify(
        &self,
        token: &str,
        now: Timestamp,
        age_max: Duration,
    ) -> Result<IssuedSession, SessionError> {
        let not_issued = SessionError::NotIssued;
        let text = token.strip_prefix(SESSION_TOKEN_PREFIX).ok_or(not_issued)?;
        // One byte more than a token has: a longer text is refused, however long it is.
        let mut bytes = [0; TOKEN_BYTES + 1];
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes);
        let length = length.map_err(|_| not_issued)?;
        let bytes = bytes.get(..length).filter(|_| length == TOKEN_BYTES);
        let (payload, mac) = bytes.ok_or(not_issued)?.split_at(TOKEN_BYTES - MAC_BYTES);
        hmac::verify(&self.key, &self.input(TOKEN_LABEL, payload), mac).map_err(|_| not_issued)?;
        let session = IssuedSession::read(payload).ok_or(not_issued)?;
        if now
            >= session
                .expires_at
                .min(seconds_after(session.issued_at, age_max))
        {
            return Err(SessionError::Expired);
        }
        Ok(session)
    }

    /// The owner of what a session makes. It does not give the session back.
    #[must_use]
    pub fn owner(&self, session: &IssuedSession) -> Option<SessionId> {
        let mac = hmac::sign(&self.key, &self.input(OWNER_LABEL, &session.random));
        let shown = mac.as_ref().get(..OWNER_BYTES)?;
        SessionId::parse(format!(
            "{ISSUED_OWNER_PREFIX}{}",
            URL_SAFE_NO_PAD.encode(shown)
        ))
        .ok()
    }

    /// What is signed. Ids have no zero byte, and the payload of each label has one length.
    fn input(&self, label: &[u8], payload: &[u8]) -> Vec<u8> {
        let (tenant, agent) = (self.tenant.as_str(), self.agent.as_str());
        [label, tenant.as_bytes(), agent.as_bytes(), payload].join(&0)
    }
}

/// Whole seconds: what a token can carry.
fn seconds_after(start: Timestamp, time: Duration) -> Timestamp {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let seconds = start.seconds().saturating_add(seconds);
    Timestamp::from_parts(seconds, 0).unwrap_or(start)
}
