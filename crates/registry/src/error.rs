//! Errors of the registry.

use domain::Violation;
use thiserror::Error;
use wire::status::{Problem, Reason};

use crate::Scope;
use event_log::Unavailable;

/// Why a caller is not authorized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AccessError {
    /// The token lacks the scope.
    #[error("the token lacks the scope {0}")]
    MissingScope(Scope),
    /// The request is of a whole tenant, but the token is bound to agents.
    #[error("the token is bound to agents")]
    BoundToAgents,
    /// The agent does not exist for this caller.
    #[error("no such agent")]
    UnknownAgent,
    /// The tenant does not exist for this caller.
    #[error("no such tenant")]
    UnknownTenant,
}

/// Errors of changes of the registry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegistryError {
    /// The id is taken.
    #[error("{what} with this id already exists")]
    AlreadyExists {
        /// The kind of the entry.
        what: &'static str,
    },
    /// The maximum number exists already.
    #[error("there are already {max} {what}, which is the maximum")]
    TooMany {
        /// The kind of the entries.
        what: &'static str,
        /// The maximum number.
        max: usize,
    },
    /// The entry does not exist.
    #[error("no such {what}")]
    NotFound {
        /// The kind of the entry.
        what: &'static str,
    },
    /// The bucket did not answer; the change may be stored. Read before a retry.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Errors of changes of settings.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// The new settings break a rule.
    #[error("the settings break a rule")]
    Broken(#[from] Violation),
    /// The registry was not changed.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

/// An entry that cannot be decoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Corrupt;

impl From<Violation> for Corrupt {
    fn from(_: Violation) -> Self {
        Self
    }
}

/// The bearer token is missing, unknown or revoked.
#[must_use]
pub fn unauthenticated() -> Problem {
    Problem::new(
        Reason::Unauthenticated,
        "a valid service token is required: send it as `authorization: Bearer <token>`",
    )
}

/// The token may not access the value of this field.
#[must_use]
pub fn access_problem(error: &AccessError, field: &str) -> Problem {
    match error {
        AccessError::MissingScope(scope) => {
            Problem::new(Reason::MissingScope, format!("the token lacks the scope `{scope}`: use one that has it"))
        }
        AccessError::BoundToAgents => Problem::new(
            Reason::MissingScope,
            "the token is bound to agents and cannot read a whole tenant: name one of its agents",
        ),
        AccessError::UnknownAgent | AccessError::UnknownTenant => Problem::of_field(
            Reason::AgentNotFound,
            field,
            "is not an agent that this token may access: check the id, and the token's tenant and agents",
        ),
    }
}
