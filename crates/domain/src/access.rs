//! The proofs that a caller may act for a tenant, or look across all of them.

use crate::id::TenantId;

/// A tenant that authentication has granted to a caller. Every query of the read models takes one.
///
/// Only the registry's authentication and the projector, which reads the record itself, make one; a check of the
/// import rules fails the build when [`TenantAccess::grant`] is called from anywhere else.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TenantAccess(TenantId);

impl TenantAccess {
    /// Grants access to a tenant. To be called by authentication alone.
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

/// Leave to look across all tenants for generations that nobody makes any more. It opens nothing of what was said.
///
/// Only the registry makes one, for a principal that is bound to no tenant; a check of the import rules fails the build
/// when [`SweepAccess::grant`] is called from anywhere else.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SweepAccess(());

impl SweepAccess {
    /// Grants it. To be called by authentication alone.
    #[must_use]
    pub fn grant() -> Self {
        Self(())
    }
}
