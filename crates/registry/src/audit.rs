//! What the audit logs of tenants contain, and who reads and writes them.

use domain::{TenantAccess, TenantId};
use wire::proto::operate::v1::Tenant;

use crate::{AccessError, Principal, Registry, RegistryError, Scope};

impl Registry {
    /// Sets what the audit log of a tenant contains; `None` changes nothing.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] or [`RegistryError::Unavailable`].
    pub async fn set_tenant_audit(
        &self,
        tenant: &TenantId,
        service_token_reads: Option<bool>,
    ) -> Result<Tenant, RegistryError> {
        let change = |tenant: &mut Tenant| {
            let mut settings = tenant.audit.unwrap_or_default();
            settings.service_token_reads = service_token_reads.unwrap_or(settings.service_token_reads);
            tenant.audit = Some(settings);
            Ok(())
        };
        self.change_tenant(tenant, change).await
    }

    /// Whether the audit log of a tenant contains reads by service tokens.
    #[must_use]
    pub fn audits_service_tokens(&self, tenant: &TenantId) -> bool {
        let audit = self.shared().read(|entries| entries.tenants.get(tenant)?.value.audit);
        audit.is_some_and(|audit| audit.service_token_reads)
    }

    /// Authorizes a caller to read the audit log of a tenant; `None`: the only tenant of its token. The token has the scope
    /// `operate` and is not bound to agents.
    ///
    /// # Errors
    /// [`AccessError`]; the same for a missing tenant and for a foreign one.
    pub async fn authorize_audit_reader(
        &self,
        principal: &Principal,
        tenant: Option<&TenantId>,
    ) -> Result<TenantAccess, AccessError> {
        principal.require(Scope::Operate)?;
        principal.require_whole_tenant()?;
        let tenant = tenant.or(principal.tenant.as_ref()).filter(|tenant| principal.sees(tenant));
        self.grant_known(tenant).await
    }

    /// Authorizes a caller to record reads of others in the audit log of a tenant. The token has the scope `append` and is of all
    /// tenants.
    ///
    /// # Errors
    /// [`AccessError`]; the same for a missing tenant and for a token of one tenant.
    pub async fn authorize_audit_writer(
        &self,
        principal: &Principal,
        tenant: &TenantId,
    ) -> Result<TenantAccess, AccessError> {
        principal.require(Scope::Append)?;
        self.grant_known(Some(tenant).filter(|_| principal.tenant.is_none())).await
    }

    async fn grant_known(&self, tenant: Option<&TenantId>) -> Result<TenantAccess, AccessError> {
        match tenant {
            Some(tenant) if self.has_tenant(tenant).await => Ok(TenantAccess::grant(tenant.clone())),
            Some(_) | None => Err(AccessError::UnknownTenant),
        }
    }
}
