//! Tenants.

use domain::{DisplayName, TenantId, Timestamp};
use wire::proto::operate::v1::Tenant;
use wire::time;

use crate::entry_keys::tenant_key;
use crate::{Entries, Registry, RegistryError};

impl Registry {
    /// Creates a tenant and its root secret. The secret is created first: a process that sees the tenant sees its secret.
    ///
    /// # Errors
    /// [`RegistryError::AlreadyExists`] or [`RegistryError::Unavailable`].
    pub async fn create_tenant(
        &self,
        tenant: &TenantId,
        display_name: &DisplayName,
        at: Timestamp,
    ) -> Result<Tenant, RegistryError> {
        self.make_tenant_secret(tenant, at).await?;
        let created = Tenant {
            tenant_id: tenant.as_str().to_owned(),
            display_name: display_name.to_string(),
            created_at: Some(time::to_proto(at)),
            ..Tenant::default()
        };
        let key = tenant_key(tenant);
        self.shared().create(&key, &created, "tenant").await?;
        Ok(created)
    }

    /// All tenants, by id.
    #[must_use]
    pub fn list_tenants(&self) -> Vec<Tenant> {
        self.shared().read(|entries| {
            let tenants = entries.tenants.values();
            tenants.map(|entry| entry.value.clone()).collect()
        })
    }

    /// The tenant with this id.
    #[must_use]
    pub fn tenant(&self, tenant: &TenantId) -> Option<Tenant> {
        self.shared().read(|entries| {
            let entry = entries.tenants.get(tenant)?;
            Some(entry.value.clone())
        })
    }

    /// Changes a tenant's entry; retries after a concurrent change.
    pub(crate) async fn change_tenant<E: From<RegistryError>>(
        &self,
        tenant: &TenantId,
        change: impl Fn(&mut Tenant) -> Result<(), E>,
    ) -> Result<Tenant, E> {
        let find = |entries: &Entries| entries.tenants.get(tenant).cloned();
        let key = |_: &Tenant| tenant_key(tenant);
        self.shared().update("tenant", find, key, change).await
    }
}
