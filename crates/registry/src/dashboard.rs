//! Links and sessions of the dashboard: whom they name, and their end.
//!
//! They are signed with a key that is derived from the tenant's root secret, and revoked like the tokens of users. A link is
//! used by revoking it: of concurrent uses, one succeeds.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::{Actor, TenantAccess, TenantId, Timestamp};
use identity::{
    DASHBOARD_RANDOM_BYTES, DashboardKey, DashboardUse, NewPerson, Role, VerifiedPerson, dashboard_tenant,
    token_id_digest,
};
use wire::proto::operate::v1::{DashboardView, Tenant};

use crate::{KeyPurpose, Principal, Registry, RegistryError, Scope, Scopes};

/// Maximum number of saved views of a tenant.
pub const DASHBOARD_VIEWS_MAX: usize = 50;

/// A person with a valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonAccess {
    /// Access to the person's tenant.
    pub tenant: TenantAccess,
    /// The person.
    pub person: VerifiedPerson,
}

impl PersonAccess {
    /// The person as a caller of the registry service, bound to their tenant. Only administrators and operators have a scope,
    /// `operate`.
    #[must_use]
    pub fn principal(&self) -> Principal {
        let is_administrator = self.person.role() >= Role::Administrator;
        Principal {
            token_id: Arc::from(self.person.token_id()),
            actor: Actor(self.person.subject().clone()),
            scopes: Scopes::from_iter(is_administrator.then_some(Scope::Operate)),
            tenant: Some(self.tenant.tenant().clone()),
            agents: Arc::new(BTreeSet::new()),
            // The session has an end of its own.
            expires_at: None,
        }
    }
}

impl Registry {
    /// The key that signs a tenant's links and sessions; `None`: the tenant does not exist or has no root secret.
    #[must_use]
    pub fn dashboard_key(&self, tenant: &TenantId) -> Option<DashboardKey> {
        let key = self.tenant_key(tenant, KeyPurpose::Dashboard)?;
        Some(DashboardKey::new(key.as_bytes()))
    }

    /// A token for a new link or a new session; `None`: the tenant does not exist.
    #[must_use]
    pub fn issue_dashboard_token(
        &self,
        token_use: DashboardUse,
        person: NewPerson,
        at: Timestamp,
    ) -> Option<(VerifiedPerson, String)> {
        let key = self.dashboard_key(&person.tenant)?;
        let random: [u8; DASHBOARD_RANDOM_BYTES] = rand::random();
        let person = key.issue(token_use, person, random, at);
        let token = key.sign(token_use, &person);
        Some((person, token))
    }

    /// The token of a new session of the same person in another tenant; `None`: the tenant does not exist, or the person may not
    /// see it.
    #[must_use]
    pub fn switch_dashboard_tenant(&self, person: &VerifiedPerson, tenant: &TenantId) -> Option<String> {
        let random: [u8; DASHBOARD_RANDOM_BYTES] = rand::random();
        let person = person.in_tenant(tenant, random)?;
        let key = self.dashboard_key(tenant)?;
        Some(key.sign(DashboardUse::Session, &person))
    }

    /// The person of a valid token; `None`: it is invalid, has expired or was revoked. Answers from memory.
    #[must_use]
    pub fn verify_dashboard_token(&self, token_use: DashboardUse, token: &str, at: Timestamp) -> Option<PersonAccess> {
        let tenant = dashboard_tenant(token).ok()?;
        let key = self.dashboard_key(&tenant)?;
        let revoked = self.token_rules(&tenant).revoked;
        let person = key.verify(token, token_use, &tenant, revoked, at).ok()?;
        Some(PersonAccess { tenant: TenantAccess::grant(tenant), person })
    }

    /// The saved views of a tenant, by name.
    #[must_use]
    pub fn dashboard_views(&self, tenant: &TenantId) -> Vec<DashboardView> {
        let tenant = self.tenant(tenant);
        tenant.map_or_else(Vec::new, |tenant| tenant.dashboard_views)
    }

    /// Saves a view, or removes the one with its name if it has no filter; retries after a concurrent change.
    ///
    /// # Errors
    /// [`RegistryError::TooMany`] past [`DASHBOARD_VIEWS_MAX`], [`RegistryError::NotFound`] without the tenant, or
    /// [`RegistryError::Unavailable`].
    pub async fn set_dashboard_view(
        &self,
        tenant: &TenantId,
        view: &DashboardView,
    ) -> Result<Vec<DashboardView>, RegistryError> {
        let change = |tenant: &mut Tenant| {
            let views = &mut tenant.dashboard_views;
            views.retain(|known| known.name != view.name);
            if !view.filter.is_empty() {
                views.push(view.clone());
            }
            views.sort_by(|one, other| one.name.cmp(&other.name));
            if views.len() > DASHBOARD_VIEWS_MAX {
                let (what, max) = ("saved views", DASHBOARD_VIEWS_MAX);
                return Err(RegistryError::TooMany { what, max });
            }
            Ok(())
        };
        let changed = self.change_tenant(tenant, change).await?;
        Ok(changed.dashboard_views)
    }

    /// Ends a valid token for all gateways. Returns its person if this call ended it; `None`: it is invalid, or had ended.
    ///
    /// # Errors
    /// [`RegistryError::TooMany`] revoked tokens of the tenant, or [`RegistryError::Unavailable`].
    pub async fn end_dashboard_token(
        &self,
        token_use: DashboardUse,
        token: &str,
        at: Timestamp,
    ) -> Result<Option<PersonAccess>, RegistryError> {
        let Some(access) = self.verify_dashboard_token(token_use, token, at) else {
            return Ok(None);
        };
        // A renewed token has the same id and expires later.
        let kept_until = at.after(token_use.lifetime_max());
        let (tenant, id) = (access.tenant.tenant(), access.person.token_id());
        let is_ended = self.revoke_until(tenant, token_id_digest(id), kept_until, at).await?;
        Ok(is_ended.then_some(access))
    }
}
