//! The conversations that an archive run covers, and the stores that it works on.

use archive::Archive;
use domain::{TenantId, Timestamp};
use read_model::ReadModel;

/// What an archive run works with.
pub(super) struct RunScope {
    pub(super) archive: Archive,
    pub(super) model: ReadModel,
    /// Conversations whose last commit is earlier than this are old.
    pub(super) before: Timestamp,
    pub(super) tenant: Option<TenantId>,
}
