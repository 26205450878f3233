//! Administrators of tenants, who show tokens that their tenant has signed.

use domain::TenantAccess;
use identity::VerifiedAdmin;

use super::Registry;

impl Registry {
    /// Leave for an administrator to act for their tenant; `None`: there is no such tenant.
    ///
    /// Answers from memory; only a tenant that memory does not know may be looked up once, at a bounded rate.
    pub async fn grant_admin(&self, admin: &VerifiedAdmin) -> Option<TenantAccess> {
        let is_there = self.has_tenant(admin.tenant()).await;
        is_there.then(|| TenantAccess::grant(admin.tenant().clone()))
    }
}
