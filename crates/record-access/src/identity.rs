//! Identifies the caller of a frontend: the owner of the conversations that they create and may read.
//!
//! Pure. Keys, sessions and tokens are verified before; this module combines them under the agent's rule.

use ::identity::{SessionError, TokenError, VerifiedUser};
use domain::{Owner, SessionId, UserId};
use registry::AgentAccess;
use thiserror::Error;
use wire::proto::operate::v1::{Agent, AgentSettings, IdentityMode};

/// How an agent's callers are identified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityRule {
    /// By an issued session only.
    Issued,
    /// By a user token, or by an issued session.
    Signed,
    /// By a user id that the frontend sends, or by an issued session.
    Trust,
    /// By a user id or a session id, both chosen by the caller.
    Open,
}

impl IdentityRule {
    /// The rule of an agent; the strictest if it has no settings or an unknown mode.
    #[must_use]
    pub fn of(agent: &Agent) -> Self {
        match agent.settings.as_ref().map(AgentSettings::identity_mode) {
            Some(IdentityMode::Trust) => Self::Trust,
            Some(IdentityMode::Signed) => Self::Signed,
            Some(IdentityMode::Open) => Self::Open,
            Some(IdentityMode::Issued | IdentityMode::Unspecified) | None => Self::Issued,
        }
    }

    /// Whether the agent has users.
    #[must_use]
    pub fn has_users(self) -> bool {
        match self {
            Self::Issued => false,
            Self::Signed | Self::Trust | Self::Open => true,
        }
    }
}

/// The claims of a caller about their identity.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claims {
    /// The session: a valid issued one, or, under [`IdentityRule::Open`], a chosen id.
    pub session: Option<SessionId>,
    /// The user id that the request sends.
    pub user: Option<UserId>,
    /// The user of a valid token. An invalid token is rejected before, under every rule.
    pub verified: Option<VerifiedUser>,
}

/// The identity that follows from the claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The owner of the caller's conversations.
    pub owner: Owner,
    /// Whether a token proves the owner. Otherwise the frontend chose the session or the user id.
    pub verified: bool,
}

/// A caller through a frontend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The right to act for the agent.
    pub access: AgentAccess,
    /// The owner of the caller's conversations.
    pub owner: Owner,
    /// Whether a token proves the owner.
    pub verified: bool,
}

/// Why a caller cannot be identified. Each variant has one remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    /// No claim names an owner: get a session and send it.
    #[error("a session is required")]
    SessionMissing,
    /// The session is of another agent, or has expired: get a new one.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// This gateway does not have the tenant's session key yet: try again.
    #[error("the tenant's key for sessions is not known")]
    SessionKeyMissing,
    /// A user id without a token is not enough: send a token.
    #[error("a user id requires the user's token")]
    TokenRequired,
    /// The token and the request name different users: send the same user id, or none.
    #[error("the token names another user than the request")]
    UserMismatch,
    /// The token is invalid.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The keys for the token cannot be fetched: try again.
    #[error("the keys that verify the token cannot be fetched")]
    KeysUnavailable,
}

impl Caller {
    /// The caller with this access and these claims, for all requests except listing a user's conversations.
    ///
    /// # Errors
    /// As [`identify`]; [`TokenError::WrongTenant`] for a token of another tenant than the key's.
    pub fn resolve(access: AgentAccess, rule: IdentityRule, claimed: Claims) -> Result<Self, Refusal> {
        check_tenant(&access, claimed.verified.as_ref())?;
        Ok(Self::new(access, identify(rule, claimed)?))
    }

    /// The caller who lists a user's conversations.
    ///
    /// # Errors
    /// As [`identify_lister`]; [`TokenError::WrongTenant`] for a token of another tenant than the key's.
    pub fn resolve_lister(access: AgentAccess, claimed: Claims) -> Result<Self, Refusal> {
        check_tenant(&access, claimed.verified.as_ref())?;
        Ok(Self::new(access, identify_lister(claimed)?))
    }

    fn new(access: AgentAccess, identified: Identity) -> Self {
        Self { access, owner: identified.owner, verified: identified.verified }
    }
}

fn check_tenant(access: &AgentAccess, verified: Option<&VerifiedUser>) -> Result<(), TokenError> {
    if verified.is_some_and(|verified| verified.tenant() != access.tenant.tenant()) {
        return Err(TokenError::WrongTenant);
    }
    Ok(())
}

/// The identity of a caller under the agent's rule: a user if the rule accepts the claim, otherwise the session.
///
/// # Errors
/// There is no owner, a required token is missing, or token and user id differ.
pub fn identify(rule: IdentityRule, claimed: Claims) -> Result<Identity, Refusal> {
    let Claims { session, user, verified } = claimed;
    match rule {
        IdentityRule::Issued => of_session(session),
        IdentityRule::Signed | IdentityRule::Trust | IdentityRule::Open if verified.is_some() => {
            of_token(user.as_ref(), verified)
        }
        IdentityRule::Signed if user.is_some() => Err(Refusal::TokenRequired),
        IdentityRule::Signed | IdentityRule::Trust | IdentityRule::Open => {
            user.map_or_else(|| of_session(session), |user| Ok(Identity { owner: Owner::User(user), verified: false }))
        }
    }
}

/// The user whose conversations may be listed: the user of the token, under every rule.
///
/// # Errors
/// The token is missing or names another user.
pub fn identify_lister(claimed: Claims) -> Result<Identity, Refusal> {
    of_token(claimed.user.as_ref(), claimed.verified)
}

fn of_session(session: Option<SessionId>) -> Result<Identity, Refusal> {
    let session = session.ok_or(Refusal::SessionMissing)?;
    Ok(Identity { owner: Owner::Session(session), verified: false })
}

fn of_token(user: Option<&UserId>, verified: Option<VerifiedUser>) -> Result<Identity, Refusal> {
    let verified = verified.ok_or(Refusal::TokenRequired)?;
    if user.is_some_and(|user| user != verified.user()) {
        return Err(Refusal::UserMismatch);
    }
    Ok(Identity { owner: Owner::User(verified.user().clone()), verified: true })
}

#[cfg(test)]
mod tests;
