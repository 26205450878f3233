//! The dashboard's tokens: one-time links, and the sessions of signed-in people.
//!
//! Both are JWTs that Hansard itself signs with a key of the tenant (HS256), with different audiences, so neither is accepted
//! as the other. They are not stored. A token ends at its expiry or when its `jti` is revoked. A session expires
//! [`DASHBOARD_IDLE_MAX`] after its last renewal, and [`DASHBOARD_SESSION_AGE_MAX`] after the sign-in at the latest.
//!
//! Gateways and writers have the key of a tenant. An endorsement is a third token, signed with a key that only writers have. A link and
//! its session contain it; it proves that a writer created the link, so that a gateway alone cannot sign in an administrator.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{Label, SigningKeyId, TenantId, Timestamp};
use jsonwebtoken::dangerous::insecure_decode_claims;
use ring::hmac;
use serde_json::json;

use crate::claims::Claims;
use crate::role::Role;
use crate::token::{check_length, signed_claims};
use crate::{Key, RevocationDigest, TenantScope, TokenError, TokenRules};

/// The maximum time from a sign-in to the end of its session.
pub const DASHBOARD_SESSION_AGE_MAX: Duration = Duration::from_hours(12);
/// A session that is not used for this long ends.
pub const DASHBOARD_IDLE_MAX: Duration = Duration::from_hours(1);
/// The lifetime of a one-time link.
pub const DASHBOARD_LINK_LIFETIME: Duration = Duration::from_mins(10);
/// The lifetime of an endorsement: that of a link that is used at its end, and of the session.
pub const DASHBOARD_ENDORSEMENT_LIFETIME: Duration = DASHBOARD_SESSION_AGE_MAX.saturating_add(DASHBOARD_LINK_LIFETIME);
/// Random bytes of a token's id: 128 bits.
pub const DASHBOARD_RANDOM_BYTES: usize = 16;

/// A used session is renewed when this much of [`DASHBOARD_IDLE_MAX`] has passed.
const RENEWAL_DUE: Duration = Duration::from_mins(5);
/// The header of every token: `{"alg":"HS256","typ":"JWT"}`.
const HEADER: &[u8] = br#"{"alg":"HS256","typ":"JWT"}"#;
const FORM_LABEL: &[u8] = b"hansard dashboard form 1";
const PROOF_LABEL: &[u8] = b"hansard dashboard proof 1";
/// The id of the derived key, which is in no token.
const KEY_ID: &str = "dashboard";

/// What a token is for. Each has its audience and its maximum lifetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DashboardUse {
    /// A link that signs one person in, once.
    Link,
    /// The session of a signed-in person.
    Session,
    /// The proof that a writer created the link of a person.
    Endorsement,
}

impl DashboardUse {
    fn audience(self) -> &'static str {
        match self {
            Self::Link => "hansard-dashboard-link",
            Self::Session => "hansard-dashboard-session",
            Self::Endorsement => "hansard-dashboard-endorsement",
        }
    }

    /// The maximum time from issue to expiry.
    #[must_use]
    pub fn lifetime_max(self) -> Duration {
        match self {
            Self::Link => DASHBOARD_LINK_LIFETIME,
            Self::Session => DASHBOARD_SESSION_AGE_MAX,
            Self::Endorsement => DASHBOARD_ENDORSEMENT_LIFETIME,
        }
    }

    /// The time from issue or renewal to expiry.
    fn lifetime(self) -> Duration {
        match self {
            Self::Link => DASHBOARD_LINK_LIFETIME,
            Self::Session => DASHBOARD_IDLE_MAX,
            Self::Endorsement => DASHBOARD_ENDORSEMENT_LIFETIME,
        }
    }
}

/// A person as a verified token names them. Only [`DashboardKey::verify`] and [`DashboardKey::issue`] create it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedPerson {
    tenant: TenantId,
    subject: Label,
    role: Role,
    tenant_scope: TenantScope,
    endorsement: Option<String>,
    token_id: String,
    issued_at: Timestamp,
    expires_at: Timestamp,
}

/// A person to sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPerson {
    /// The tenant.
    pub tenant: TenantId,
    /// The person's name, which the audit log records.
    pub subject: Label,
    /// What the person may do.
    pub role: Role,
    /// Whose tenants the person may see; only an operator keeps [`TenantScope::All`].
    pub tenant_scope: TenantScope,
    /// The endorsement by a writer; `None`: no writer knows the person.
    pub endorsement: Option<String>,
}

/// Signs and verifies the tokens of one tenant. `Debug` hides the key.
pub struct DashboardKey {
    signing: hmac::Key,
    verifying: Vec<Key>,
}

impl fmt::Debug for DashboardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DashboardKey(..)")
    }
}

/// The unverified tenant of a token. Use it only to find the key of that tenant.
///
/// # Errors
/// The token is too long, is not a JWT, or has no tenant.
pub fn dashboard_tenant(token: &str) -> Result<TenantId, TokenError> {
    check_length(token)?;
    let claims: Claims = insecure_decode_claims(token).map_err(|_| TokenError::Malformed)?;
    tenant_of(&claims)
}

impl VerifiedPerson {
    /// The tenant.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// The person's name.
    #[must_use]
    pub fn subject(&self) -> &Label {
        &self.subject
    }

    /// What the person may do.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Whose tenants the person may see.
    #[must_use]
    pub fn tenant_scope(&self) -> TenantScope {
        self.tenant_scope
    }

    /// The endorsement by a writer, which is not verified; `None`: the person has none.
    #[must_use]
    pub fn endorsement(&self) -> Option<&str> {
        self.endorsement.as_deref()
    }

    /// Whether this person, of a verified endorsement, is that of a session: in its tenant, with at least its role.
    #[must_use]
    pub fn endorses(&self, session: &Self) -> bool {
        let is_of_tenant = self.tenant == session.tenant || self.tenant_scope == TenantScope::All;
        is_of_tenant && self.subject == session.subject && self.role >= session.role
    }

    /// The same person, to sign in.
    #[must_use]
    pub fn to_new(&self) -> NewPerson {
        NewPerson {
            tenant: self.tenant.clone(),
            subject: self.subject.clone(),
            role: self.role,
            tenant_scope: self.tenant_scope,
            endorsement: self.endorsement.clone(),
        }
    }

    /// The person in another tenant, with a session that ends when this one does; `None`: the person may not see it. `random`
    /// must be unpredictable.
    #[must_use]
    pub fn in_tenant(&self, tenant: &TenantId, random: [u8; DASHBOARD_RANDOM_BYTES]) -> Option<Self> {
        (self.tenant_scope == TenantScope::All).then(|| Self {
            tenant: tenant.clone(),
            token_id: URL_SAFE_NO_PAD.encode(random),
            ..self.clone()
        })
    }

    /// The token's id, which a revocation names.
    #[must_use]
    pub fn token_id(&self) -> &str {
        &self.token_id
    }

    /// The first time at which the token is invalid.
    #[must_use]
    pub fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// The session with a later expiry, if it is due; `None`: it is not, or the session has its maximum age.
    #[must_use]
    pub fn renewed(&self, now: Timestamp) -> Option<Self> {
        let expires_at = expiry(DashboardUse::Session, self.issued_at, now);
        let gained = expires_at.0.saturating_sub(self.expires_at.0);
        let is_due = gained >= i64::try_from(RENEWAL_DUE.as_nanos()).unwrap_or(i64::MAX);
        is_due.then(|| Self { expires_at, ..self.clone() })
    }
}

impl DashboardKey {
    /// The key of a tenant. A secret with a length outside of [`crate::HS256_SECRET_BYTES`] verifies nothing.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        let id = SigningKeyId::parse(KEY_ID);
        let key = id.ok().and_then(|id| Key::hs256(&id, secret).ok());
        Self { signing: hmac::Key::new(hmac::HMAC_SHA256, secret), verifying: key.into_iter().collect() }
    }

    /// A new token's content. `random` must be unpredictable.
    #[must_use]
    pub fn issue(
        &self,
        token_use: DashboardUse,
        person: NewPerson,
        random: [u8; DASHBOARD_RANDOM_BYTES],
        now: Timestamp,
    ) -> VerifiedPerson {
        let issued_at = Timestamp::from_parts(now.seconds(), 0).unwrap_or(now);
        VerifiedPerson {
            tenant: person.tenant,
            subject: person.subject,
            role: person.role,
            tenant_scope: scope_of(person.role, person.tenant_scope),
            endorsement: person.endorsement,
            token_id: URL_SAFE_NO_PAD.encode(random),
            issued_at,
            expires_at: expiry(token_use, issued_at, issued_at),
        }
    }

    /// The token of a person: a secret.
    #[must_use]
    pub fn sign(&self, token_use: DashboardUse, person: &VerifiedPerson) -> String {
        let claims = json!({
            "aud": token_use.audience(),
            "tenant": person.tenant.as_str(),
            "sub": person.subject.as_str(),
            "role": person.role.as_str(),
            "tenants": person.tenant_scope.as_str(),
            "endorsement": person.endorsement,
            "jti": person.token_id,
            "iat": person.issued_at.seconds(),
            "exp": person.expires_at.seconds(),
        });
        let encode = |part: &[u8]| URL_SAFE_NO_PAD.encode(part);
        let signed = format!("{}.{}", encode(HEADER), encode(claims.to_string().as_bytes()));
        let mac = hmac::sign(&self.signing, signed.as_bytes());
        format!("{signed}.{}", encode(mac.as_ref()))
    }

    /// Verifies a token of a tenant.
    ///
    /// # Errors
    /// [`TokenError`]; [`TokenError::WrongAudience`] for a token of another use.
    pub fn verify(
        &self,
        token: &str,
        token_use: DashboardUse,
        tenant: &TenantId,
        revoked: Arc<HashSet<RevocationDigest>>,
        now: Timestamp,
    ) -> Result<VerifiedPerson, TokenError> {
        let rules = TokenRules {
            audience: Some(token_use.audience().to_owned()),
            issuer: None,
            lifetime_max: token_use.lifetime_max(),
            revoked,
        };
        let (claims, _) = signed_claims(token, &self.verifying)?;
        claims.check_time(now)?;
        claims.check_rules(&rules, now)?;
        claims.check_audience(&rules, &[])?;
        if tenant_of(&claims)? != *tenant {
            return Err(TokenError::WrongTenant);
        }
        person_of(&claims, tenant)
    }

    /// The token of a session's forms. It proves that a page of the same session contains the form.
    #[must_use]
    pub fn form_token(&self, session: &VerifiedPerson) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.signing, &form_input(session)).as_ref())
    }

    /// Whether a form's token is that of the session, compared in constant time.
    #[must_use]
    pub fn is_form_token(&self, session: &VerifiedPerson, token: &str) -> bool {
        self.is_mac(&form_input(session), token)
    }

    /// A token that proves a fact to later requests of the session, such as that a view is recorded.
    #[must_use]
    pub fn proof(&self, session: &VerifiedPerson, fact: &str) -> String {
        let mac = hmac::sign(&self.signing, &proof_input(session, fact));
        URL_SAFE_NO_PAD.encode(mac.as_ref())
    }

    /// Whether a token proves the fact to the session, compared in constant time.
    #[must_use]
    pub fn is_proof(&self, session: &VerifiedPerson, fact: &str, token: &str) -> bool {
        self.is_mac(&proof_input(session, fact), token)
    }

    fn is_mac(&self, input: &[u8], token: &str) -> bool {
        let mac = URL_SAFE_NO_PAD.decode(token);
        mac.is_ok_and(|mac| hmac::verify(&self.signing, input, &mac).is_ok())
    }
}

fn form_input(session: &VerifiedPerson) -> Vec<u8> {
    [FORM_LABEL, session.token_id.as_bytes()].join(&0)
}

fn proof_input(session: &VerifiedPerson, fact: &str) -> Vec<u8> {
    [PROOF_LABEL, session.token_id.as_bytes(), fact.as_bytes()].join(&0)
}

fn tenant_of(claims: &Claims) -> Result<TenantId, TokenError> {
    let malformed = TokenError::Claim { claim: "tenant" };
    let tenant = claims.tenant()?.ok_or(malformed)?;
    TenantId::parse(tenant).map_err(|_| malformed)
}

fn person_of(claims: &Claims, tenant: &TenantId) -> Result<VerifiedPerson, TokenError> {
    let claim = |claim| TokenError::Claim { claim };
    let role = claims.role()?.and_then(Role::parse).ok_or(claim("role"))?;
    let is_of_all = claims.tenants()? == Some(TenantScope::All.as_str());
    let tenant_scope = if is_of_all { TenantScope::All } else { TenantScope::One };
    Ok(VerifiedPerson {
        tenant: tenant.clone(),
        subject: Label::parse(claims.subject()?).map_err(|_| claim("sub"))?,
        role,
        tenant_scope: scope_of(role, tenant_scope),
        endorsement: claims.endorsement()?.map(str::to_owned),
        token_id: claims.token_id()?.ok_or(claim("jti"))?.to_owned(),
        issued_at: claims.issued_at()?.ok_or(claim("iat"))?,
        expires_at: claims.expires_at()?.ok_or(claim("exp"))?,
    })
}

/// Only operators see more than one tenant.
fn scope_of(role: Role, scope: TenantScope) -> TenantScope {
    if role == Role::Operator { scope } else { TenantScope::One }
}

/// A session's expiry is bounded by the last renewal and by the sign-in.
fn expiry(token_use: DashboardUse, issued_at: Timestamp, now: Timestamp) -> Timestamp {
    let idle = seconds_after(now, token_use.lifetime());
    idle.min(seconds_after(issued_at, token_use.lifetime_max()))
}

/// In whole seconds, as in tokens.
fn seconds_after(start: Timestamp, time: Duration) -> Timestamp {
    let seconds = start.seconds().saturating_add(i64::try_from(time.as_secs()).unwrap_or(i64::MAX));
    Timestamp::from_parts(seconds, 0).unwrap_or(start)
}
