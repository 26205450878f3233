//! Verifies tokens of tenant administrators.

use domain::{Label, SigningKeyId, TenantId, Timestamp};
use jsonwebtoken::dangerous::insecure_decode_claims;

use crate::claims::Claims;
use crate::token::{check_length, signed_claims};
use crate::{AUDIENCE, Key, TokenError, TokenRules};

/// The required `role` of an administrator token.
pub const ADMIN_ROLE: &str = "admin";

/// An administrator of a tenant, from a verified token. Only [`verify_admin`] creates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedAdmin {
    tenant: TenantId,
    subject: Label,
    signing_key: SigningKeyId,
}

impl VerifiedAdmin {
    /// The tenant.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// The subject: the tenant's name of the administrator.
    #[must_use]
    pub fn subject(&self) -> &Label {
        &self.subject
    }

    /// The signing key of the tenant that verified the token.
    #[must_use]
    pub fn signing_key(&self) -> &SigningKeyId {
        &self.signing_key
    }
}

/// The unverified `tenant` of a token. Use it only to find the keys of that tenant.
///
/// # Errors
/// The token is too long, is not a JWT, or has no tenant.
pub fn claimed_tenant(token: &str) -> Result<TenantId, TokenError> {
    check_length(token)?;
    let claims: Claims = insecure_decode_claims(token).map_err(|_| TokenError::Malformed)?;
    tenant_of(&claims)
}

/// The unverified `exp` of a token; `None`: it has none in the range of timestamps.
///
/// # Errors
/// The token is too long, or is not a JWT.
pub fn claimed_expiry(token: &str) -> Result<Option<Timestamp>, TokenError> {
    check_length(token)?;
    let claims: Claims = insecure_decode_claims(token).map_err(|_| TokenError::Malformed)?;
    Ok(claims.expires_at().ok().flatten())
}

/// Verifies an administrator token and returns its `sub`.
///
/// `keys` are the currently valid administrator keys of the tenant. `tenant` and `role` ([`ADMIN_ROLE`]) are required. `aud`
/// must be or contain the audience of the tenant; if the tenant has none, `aud` may be missing, or must be or contain
/// [`AUDIENCE`]. Time, [`TokenRules`] and `kid` are checked as in [`crate::verify_user`].
///
/// # Errors
/// [`TokenError`].
pub fn verify_admin(
    token: &str,
    keys: &[Key],
    tenant: &TenantId,
    rules: &TokenRules,
    now: Timestamp,
) -> Result<VerifiedAdmin, TokenError> {
    let (claims, key) = signed_claims(token, keys)?;
    claims.check_time(now)?;
    claims.check_rules(rules, now)?;
    rules.check_not_revoked(token)?;
    claims.check_audience(rules, &[AUDIENCE])?;
    if tenant_of(&claims)? != *tenant {
        return Err(TokenError::WrongTenant);
    }
    if claims.role()? != Some(ADMIN_ROLE) {
        return Err(TokenError::NotAdmin);
    }
    let malformed = |_| TokenError::Claim { claim: "sub" };
    Ok(VerifiedAdmin {
        tenant: tenant.clone(),
        subject: Label::parse(claims.subject()?).map_err(malformed)?,
        signing_key: key.signing_key().clone(),
    })
}

fn tenant_of(claims: &Claims) -> Result<TenantId, TokenError> {
    let malformed = TokenError::Claim { claim: "tenant" };
    let tenant = claims.tenant()?.ok_or(malformed)?;
    TenantId::parse(tenant).map_err(|_| malformed)
}
