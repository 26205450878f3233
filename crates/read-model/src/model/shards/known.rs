//! The assignments of a database as this process has read them.

use std::sync::{Arc, PoisonError, RwLock};

use domain::TenantId;

use super::stored::Stored;

/// The stored assignments; at first unknown. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownAssignments(Arc<RwLock<Option<Arc<Stored>>>>);

impl KnownAssignments {
    /// Whether the known assignments say that this database, the first one or a shard, has the rows of a tenant. `false` also if they
    /// are unknown, or if the tenant may have been assigned since: read them again.
    pub(crate) fn are_of(&self, tenant: &TenantId, shard: Option<&str>) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().is_some_and(|known| known.has(tenant, shard))
    }

    pub(crate) fn set(&self, stored: Arc<Stored>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(stored);
    }
}
