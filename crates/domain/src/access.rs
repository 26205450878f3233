//! Proofs that a caller may read the data of one tenant, or of all tenants.

use crate::id::TenantId;

/// A tenant that authentication has granted to a caller. Every query of the read models takes one.
///
/// Only the registry's authentication and the projector, which reads the record, create one. The import rules fail the
/// build when other code calls [`TenantAccess::grant`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TenantAccess(TenantId);

impl TenantAccess {
    /// Grants access to a tenant. Only authentication calls it.
    #[must_use]
    pub fn grant(tenant: TenantId) -> Self {
        Self(tenant)
    }

    /// The tenant.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.0
    }
}

/// Permission to list abandoned runs of all tenants. It gives no access to content.
///
/// Only the registry creates one, for a principal without a tenant. The import rules fail the build when other code calls
/// [`SweepAccess::grant`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SweepAccess(());

impl SweepAccess {
    /// Grants it. Only authentication calls it.
    #[must_use]
    pub fn grant() -> Self {
        Self(())
    }
}
