//! The proof that a caller may act for a tenant.

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
