//! Tokens of tenants' administrators.

use domain::{Label, TenantId, Timestamp};
use jsonwebtoken::dangerous::insecure_decode_claims;

use crate::claims::{AUDIENCE, Claims};
use crate::error::TokenError;
use crate::key::Key;
use crate::rules::TokenRules;
use crate::token::{check_length, signed_claims};

/// The role that an administrator's token must have.
pub const ADMIN_ROLE: &str = "admin";

/// An administrator of a tenant, by a token that the tenant has signed. Made by [`verify_admin`] alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedAdmin {
    tenant: TenantId,
    subject: Label,
}

impl VerifiedAdmin {
    /// The tenant.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// The administrator, as the tenant names them.
    #[must_use]
    pub fn subject(&self) -> &Label {
        &self.subject
    }
}

/// The tenant that a token speaks of: good for finding that tenant's keys, and for nothing else. Nothing is verified.
///
/// # Errors
/// Too long, no JWT, or without a tenant.
pub fn claimed_tenant(token: &str) -> Result<TenantId, TokenError> {
    check_length(token)?;
    let claims: Claims = insecure_decode_claims(token).map_err(|_| TokenError::Malformed)?;
    tenant_of(&claims)
}

/// Whom an administrator's token names: its `sub`.
///
/// `keys` are the tenant's keys for administrators that are valid now. `tenant` and `role` ([`ADMIN_ROLE`]) are required;
/// `aud` must be or have the tenant's audience; where the tenant has none, `aud` may be missing, or is or has [`AUDIENCE`]. Time,
/// [`TokenRules`] and `kid` are as for [`crate::verify_user`].
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
    let claims = signed_claims(token, keys)?;
    claims.check_time(now)?;
    claims.check_rules(rules, now)?;
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
    })
}

fn tenant_of(claims: &Claims) -> Result<TenantId, TokenError> {
    let malformed = TokenError::Claim { claim: "tenant" };
    let tenant = claims.tenant()?.ok_or(malformed)?;
    TenantId::parse(tenant).map_err(|_| malformed)
}
