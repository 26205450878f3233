//! Verifies tokens of users.

use domain::{AgentId, SigningKeyId, TenantId, Timestamp, UserId};

use crate::token::signed_claims;
use crate::{AUDIENCE, Key, TokenError, TokenRules};

/// The tenant and the agent for which a user token is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserScope<'a> {
    /// The tenant of the keys.
    pub tenant: &'a TenantId,
    /// The agent.
    pub agent: &'a AgentId,
    /// The rules of the tenant for its tokens.
    pub rules: &'a TokenRules,
}

/// A user, from a verified token. Only [`verify_user`] creates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedUser {
    user: UserId,
    tenant: TenantId,
    signing_key: SigningKeyId,
}

impl VerifiedUser {
    /// The user id.
    #[must_use]
    pub fn user(&self) -> &UserId {
        &self.user
    }

    /// The tenant of the user.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    /// The signing key of the tenant that verified the token.
    #[must_use]
    pub fn signing_key(&self) -> &SigningKeyId {
        &self.signing_key
    }
}

/// Verifies a user token and returns its `sub`.
///
/// `keys` are the currently valid user keys of the tenant. `exp` is required; `nbf` and `iat` must not be in the future; the
/// tolerance is [`crate::LEEWAY`]. `aud` must be or contain the audience of the tenant; if the tenant has none, `aud` may be
/// missing, or must be or contain [`AUDIENCE`] or the id of the agent. [`TokenRules`] apply to `iss`, the lifetime and revoked tokens.
/// `tenant` and `agent` are optional and must be those of the scope. A `kid` selects its key; without one, all keys with the
/// algorithm of the token are tried, at most [`crate::KEYS_TRIED_MAX`].
///
/// # Errors
/// [`TokenError`].
pub fn verify_user(
    token: &str,
    keys: &[Key],
    scope: UserScope<'_>,
    now: Timestamp,
) -> Result<VerifiedUser, TokenError> {
    let (claims, key) = signed_claims(token, keys)?;
    claims.check_time(now)?;
    claims.check_rules(scope.rules, now)?;
    scope.rules.check_not_revoked(token)?;
    claims.check_audience(scope.rules, &[AUDIENCE, scope.agent.as_str()])?;
    let differs = |claim: Option<&str>, id: &str| claim.is_some_and(|claim| claim != id);
    if differs(claims.tenant()?, scope.tenant.as_str()) {
        return Err(TokenError::WrongTenant);
    }
    if differs(claims.agent()?, scope.agent.as_str()) {
        return Err(TokenError::WrongAgent);
    }
    let malformed = |_| TokenError::Claim { claim: "sub" };
    Ok(VerifiedUser {
        user: UserId::parse(claims.subject()?).map_err(malformed)?,
        tenant: scope.tenant.clone(),
        signing_key: key.signing_key().clone(),
    })
}
