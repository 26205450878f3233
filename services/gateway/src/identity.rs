//! Who a frontend's caller is: the owner of what they make, and of what they may see.
//!
//! Pure. What was shown comes in checked by itself (a key, a session, a token); here it is put together under the agent's
//! rule.

use ::identity::{SessionError, TokenError, VerifiedUser};
use domain::{Owner, SessionId, UserId};
use event_log::registry::AgentAccess;
use thiserror::Error;
use wire::proto::operate::v1::{Agent, AgentSettings, IdentityMode};

/// How an agent's callers are identified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityRule {
    /// By an issued session alone.
    Issued,
    /// By a user's token, else by an issued session.
    Signed,
    /// By a user's name as the frontend gives it, else by an issued session.
    Trust,
    /// By a user's name or a session, both as the caller chooses them.
    Open,
}

impl IdentityRule {
    /// The rule of an agent; without settings, and where they are of another version, the strictest.
    #[must_use]
    pub fn of(agent: &Agent) -> Self {
        match agent.settings.as_ref().map(AgentSettings::identity_mode) {
            Some(IdentityMode::Trust) => Self::Trust,
            Some(IdentityMode::Signed) => Self::Signed,
            Some(IdentityMode::Open) => Self::Open,
            Some(IdentityMode::Issued | IdentityMode::Unspecified) | None => Self::Issued,
        }
    }

    /// Whether the agent has users at all.
    #[must_use]
    pub fn knows_users(self) -> bool {
        match self {
            Self::Issued => false,
            Self::Signed | Self::Trust | Self::Open => true,
        }
    }
}

/// What a caller has said of themselves, beside the key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claimed {
    /// The owner that a session stands for: of an issued one that is valid, or, under [`IdentityRule::Open`], chosen.
    pub session: Option<SessionId>,
    /// The user, by name.
    pub user: Option<UserId>,
    /// The user, by a token that holds. One that does not hold is refused before, under every rule.
    pub verified: Option<VerifiedUser>,
}

/// Whom the claims make of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identified {
    /// The owner of what they make.
    pub owner: Owner,
    /// Whether a token says so. Without one, a session or a name is what the frontend says.
    pub verified: bool,
}

/// A caller through a frontend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Leave to act for the agent.
    pub access: AgentAccess,
    /// The owner of what they make, and of what they may see.
    pub owner: Owner,
    /// Whether a token says so.
    pub verified: bool,
}

/// Why a caller is nobody, by what they can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Nothing names an owner: get a session and send it.
    #[error("a session is required")]
    SessionMissing,
    /// The session was not issued for this agent, or has expired: get a new one.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The tenant's key for sessions is not known here yet: try again.
    #[error("the tenant's key for sessions is not known")]
    SessionKeyMissing,
    /// A user's name alone is not enough here: send a token.
    #[error("a user's name needs the user's token here")]
    TokenRequired,
    /// The token names another user than the request: send one of them, or the same.
    #[error("the token names another user than the request")]
    UserMismatch,
    /// The token does not hold.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The keys for the token cannot be fetched: try again.
    #[error("the keys by which the token is checked cannot be fetched")]
    KeysUnavailable,
}

impl Caller {
    /// The caller with this leave and these claims, for all but listing a user's conversations.
    ///
    /// # Errors
    /// As [`identify`]; [`TokenError::WrongTenant`] for a token of another tenant than the key's.
    pub fn resolve(
        access: AgentAccess,
        rule: IdentityRule,
        claimed: Claimed,
    ) -> Result<Self, Refusal> {
        check_tenant(&access, claimed.verified.as_ref())?;
        Ok(Self::new(access, identify(rule, claimed)?))
    }

    /// The caller who lists a user's conversations.
    ///
    /// # Errors
    /// As [`identify_lister`]; [`TokenError::WrongTenant`] for a token of another tenant than the key's.
    pub fn resolve_lister(access: AgentAccess, claimed: Claimed) -> Result<Self, Refusal> {
        check_tenant(&access, claimed.verified.as_ref())?;
        Ok(Self::new(access, identify_lister(claimed)?))
    }

    fn new(access: AgentAccess, identified: Identified) -> Self {
        Self {
            access,
            owner: identified.owner,
            verified: identified.verified,
        }
    }
}

fn check_tenant(access: &AgentAccess, verified: Option<&VerifiedUser>) -> Result<(), TokenError> {
    if verified.is_some_and(|verified| verified.tenant() != access.tenant.tenant()) {
        return Err(TokenError::WrongTenant);
    }
    Ok(())
}

/// Whom the claims make of a caller, under the agent's rule: a user that the rule believes, else the session.
///
/// # Errors
/// No owner, a name without a token where one is needed, or two names.
pub fn identify(rule: IdentityRule, claimed: Claimed) -> Result<Identified, Refusal> {
    let Claimed {
        session,
        user,
        verified,
    } = claimed;
    match rule {
        IdentityRule::Issued => of_session(session),
        IdentityRule::Signed | IdentityRule::Trust | IdentityRule::Open if verified.is_some() => {
            of_token(user.as_ref(), verified)
        }
        IdentityRule::Signed if user.is_some() => Err(Refusal::TokenRequired),
        IdentityRule::Signed | IdentityRule::Trust | IdentityRule::Open => user.map_or_else(
            || of_session(session),
            |user| {
                Ok(Identified {
                    owner: Owner::User(user),
                    verified: false,
                })
            },
        ),
    }
}

/// Whose conversations may be listed by user: whom the token names, under every rule.
///
/// # Errors
/// No token, or another user's.
pub fn identify_lister(claimed: Claimed) -> Result<Identified, Refusal> {
    of_token(claimed.user.as_ref(), claimed.verified)
}

fn of_session(session: Option<SessionId>) -> Result<Identified, Refusal> {
    let session = session.ok_or(Refusal::SessionMissing)?;
    Ok(Identified {
        owner: Owner::Session(session),
        verified: false,
    })
}

fn of_token(user: Option<&UserId>, verified: Option<VerifiedUser>) -> Result<Identified, Refusal> {
    let verified = verified.ok_or(Refusal::TokenRequired)?;
    if user.is_some_and(|user| user != verified.user()) {
        return Err(Refusal::UserMismatch);
    }
    Ok(Identified {
        owner: Owner::User(verified.user().clone()),
        verified: true,
    })
}

#[cfg(test)]
mod tests;
