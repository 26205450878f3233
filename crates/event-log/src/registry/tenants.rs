//! Tenants.

use domain::{TenantId, Timestamp};
use wire::proto::operate::v1::Tenant;
use wire::time;

use super::Registry;
use super::entries::Held;
use super::entry_keys::tenant_key;
use super::error::RegistryError;

impl Registry {
    /// Makes a tenant and its root secret. The secret is first: who sees the tenant sees its secret.
    ///
    /// # Errors
    /// [`RegistryError::AlreadyExists`] or [`RegistryError::Unavailable`].
    pub async fn create_tenant(
        &self,
        tenant: &TenantId,
        display_name: &str,
        at: Timestamp,
    ) -> Result<Tenant, RegistryError> {
        self.make_tenant_secret(tenant, at).await?;
        let made = Tenant {
            tenant_id: tenant.as_str().to_owned(),
            display_name: display_name.to_owned(),
            created_at: Some(time::to_proto(at)),
            ..Tenant::default()
        };
        let key = tenant_key(tenant);
        self.shared().create(&key, &made, "tenant").await?;
        Ok(made)
    }

    /// Every tenant, by id.
    #[must_use]
    pub fn list_tenants(&self) -> Vec<Tenant> {
        self.shared().read(|entries| {
            let tenants = entries.tenants.values();
            tenants.map(|held| held.value.clone()).collect()
        })
    }

    /// The tenant with this id.
    #[must_use]
    pub fn tenant(&self, tenant: &TenantId) -> Option<Tenant> {
        self.shared().read(|entries| {
            let held = entries.tenants.get(tenant);
            held.map(|held| held.value.clone())
        })
    }
}

/// The tenant's entry, with its revision.
pub(super) fn held_tenant(registry: &Registry, tenant: &TenantId) -> Option<Held<Tenant>> {
    registry
        .shared()
        .read(|entries| entries.tenants.get(tenant).cloned())
}
