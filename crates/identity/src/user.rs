//! Tokens of the users of a tenant's agents.

use domain::{AgentId, TenantId, Timestamp, UserId};

use crate::claims::AUDIENCE;
use crate::error::TokenError;
use crate::key::Key;
use crate::rules::TokenRules;
use crate::token::signed_claims;

/// Where a user's token is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserScope<'a> {
    /// The tenant whose keys they are.
    pub tenant: &'a TenantId,
    /// The agent that is spoken to.
    pub agent: &'a AgentId,
    /// What the tenant demands of its tokens.
    pub rules: &'a TokenRules,
}

/// A user, by a token that the tenant has signed. Made by [`verify_user`] alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedUser {
    user: UserId,
    tenant: TenantId,
}

impl VerifiedUser {
    /// The user, as the tenant names them.
    #[must_use]
    pub fn user(&self) -> &UserId {
        &self.user
    }

    /// The tenant whose user it is.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.tenant
    }
}

/// Whom a user's token names: its `sub`.
///
/// `keys` are the tenant's keys for users that are valid now. `exp` is required; `nbf` and `iat` must not lie ahead;
/// [`crate::LEEWAY`] is given. `aud` must be or have the tenant's audience; where the tenant has none, `aud` may be missing, or
/// is or has [`AUDIENCE`] or the agent's id. `iss`, the life of the token and its `jti` are as [`TokenRules`] has them. `tenant` and
/// `agent`, where there are any, must be those of the scope. A `kid` picks its key; without one, each key for the token's
/// algorithm is tried, at most [`crate::KEYS_TRIED_MAX`].
///
/// # Errors
/// [`TokenError`].
pub fn verify_user(
    token: &str,
    keys: &[Key],
    scope: UserScope<'_>,
    now: Timestamp,
) -> Result<VerifiedUser, TokenError> {
    let claims = signed_claims(token, keys)?;
    claims.check_time(now)?;
    claims.check_rules(scope.rules, now)?;
    claims.check_audience(scope.rules, &[AUDIENCE, scope.agent.as_str()])?;
    if claims
        .tenant()?
        .is_some_and(|tenant| tenant != scope.tenant.as_str())
    {
        return Err(TokenError::WrongTenant);
    }
    if claims
        .agent()?
        .is_some_and(|agent| agent != scope.agent.as_str())
    {
        return Err(TokenError::WrongAgent);
    }
    let malformed = |_| TokenError::Claim { claim: "sub" };
    Ok(VerifiedUser {
        user: UserId::parse(claims.subject()?).map_err(malformed)?,
        tenant: scope.tenant.clone(),
    })
}
