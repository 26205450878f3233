//! The conversation belongs to someone else now.

use crate::owner::Owner;

/// A change of hands: with whom it was stands beside it, so that it can be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OwnerChanged {
    /// Who it belongs to.
    pub owner: Owner,
    /// Who it belonged to; the decision sets it.
    pub previous: Owner,
}
