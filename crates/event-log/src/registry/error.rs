//! What can go wrong with the registry.

use domain::Violation;
use thiserror::Error;

use super::scope::Scope;
use crate::error::Unavailable;

/// Why a caller may not act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AccessError {
    /// Its token does not allow it.
    #[error("the token lacks the scope {0}")]
    MissingScope(Scope),
    /// No such agent for this caller.
    #[error("no such agent")]
    UnknownAgent,
    /// No such tenant for this caller.
    #[error("no such tenant")]
    UnknownTenant,
}

/// Why the registry was not changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegistryError {
    /// The id is taken.
    #[error("{what} with this id exists already")]
    AlreadyExists {
        /// What kind of thing.
        what: &'static str,
    },
    /// There are as many as there may be.
    #[error("there are {max} {what} already, no more may be")]
    TooMany {
        /// What kind of things.
        what: &'static str,
        /// How many there may be.
        max: usize,
    },
    /// There is no such thing.
    #[error("no such {what}")]
    NotFound {
        /// What kind of thing.
        what: &'static str,
    },
    /// An entry of the bucket cannot be read: an operator must look at it.
    #[error("the registry's entry {revision} is corrupt")]
    Corrupt {
        /// The entry's sequence in the bucket's stream.
        revision: u64,
    },
    /// The bucket did not answer; the change may have been made. Look before trying again.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Why the settings of an agent were not changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// As they would be then, they break a rule.
    #[error("the settings break a rule")]
    Broken(#[from] Violation),
    /// The registry was not changed.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

/// An entry that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Corrupt;
