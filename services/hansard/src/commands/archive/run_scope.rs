//! What an archive run works on: stores and conversations.

use archive::Archive;
use domain::{TenantId, Timestamp};
use read_model::ReadModel;

/// The stores and the selection of an archive run.
pub(super) struct RunScope {
    pub(super) archive: Archive,
    pub(super) model: ReadModel,
    /// Conversations whose last commit is older are archived.
    pub(super) before: Timestamp,
    pub(super) tenant: Option<TenantId>,
}
