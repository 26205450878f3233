//! Access of tenants' administrators, who present tokens signed by their tenant.

use domain::TenantAccess;
use identity::VerifiedAdmin;

use super::Registry;

impl Registry {
    /// Authorizes an administrator to act for the tenant; `None`: the tenant does not exist.
    ///
    /// Answers from memory; looks up an unknown tenant once in the bucket, at a bounded rate.
    pub async fn grant_admin(&self, admin: &VerifiedAdmin) -> Option<TenantAccess> {
        let exists = self.has_tenant(admin.tenant()).await;
        exists.then(|| TenantAccess::grant(admin.tenant().clone()))
    }
}
