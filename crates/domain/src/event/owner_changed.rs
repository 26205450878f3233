//! The owner of the conversation changed.

use crate::owner::Owner;

/// A change of the owner. It contains the previous owner, so that it can be reverted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OwnerChanged {
    /// The new owner.
    pub owner: Owner,
    /// The previous owner; the decision sets it.
    pub previous: Owner,
}
