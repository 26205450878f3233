//! Who may do what.

use domain::{Actor, AgentId, SweepAccess, TenantAccess, TenantId};
use http::HeaderMap;

use super::Registry;
use super::entry_keys::{agent_key, service_token_key, tenant_key};
use super::error::AccessError;
use super::scope::{Scope, Scopes};
use super::secret::{SERVICE_TOKEN_PREFIX, digest};

/// A caller that has shown a valid service token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The token's name, which commits record.
    pub actor: Actor,
    /// What it allows.
    pub scopes: Scopes,
    /// The one tenant that it is bound to; `None`: any.
    pub tenant: Option<TenantId>,
}

impl Principal {
    /// Refuses a caller without a scope.
    ///
    /// # Errors
    /// [`AccessError::MissingScope`].
    pub fn require(&self, scope: Scope) -> Result<(), AccessError> {
        if self.scopes.contains(scope) {
            return Ok(());
        }
        Err(AccessError::MissingScope(scope))
    }

    /// Whether it may see a tenant at all.
    #[must_use]
    pub fn sees(&self, tenant: &TenantId) -> bool {
        self.tenant.as_ref().is_none_or(|bound| bound == tenant)
    }
}

/// Leave to act for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentAccess {
    /// The agent's tenant, granted.
    pub tenant: TenantAccess,
    /// The agent.
    pub agent: AgentId,
    /// Who acts.
    pub actor: Actor,
}

impl Registry {
    /// The caller with this bearer token; `None`: unknown or revoked.
    ///
    /// Answers from memory; only a token that memory does not know may be looked up once in the bucket, at a bounded rate.
    pub async fn authenticate(&self, bearer: &str) -> Option<Principal> {
        if !bearer.starts_with(SERVICE_TOKEN_PREFIX) {
            return None;
        }
        let shared = self.shared();
        let digest = digest(bearer);
        let id = super::secret::id_of(&digest);
        let known = || {
            shared.read(|entries| {
                let principal = entries.principals.get(&digest).cloned();
                (principal, entries.service_tokens.contains_key(&id))
            })
        };
        match known() {
            (None, false) => {
                shared.look_up(&service_token_key(&digest)).await;
                known().0
            }
            (principal, _) => principal,
        }
    }

    /// Whether memory knows the service token of these headers. Never looks into the bucket: what depends on the answer must
    /// not matter to access.
    #[must_use]
    pub fn knows_service_token(&self, headers: &HeaderMap) -> bool {
        let Some(bearer) = wire::bearer::in_headers(headers) else {
            return false;
        };
        let digest = digest(bearer);
        self.shared()
            .read(|entries| entries.principals.contains_key(&digest))
    }

    /// Leave for a caller to act for an agent.
    ///
    /// Answers from memory; only an agent that memory does not know may be looked up once in the bucket, at a bounded rate.
    ///
    /// # Errors
    /// [`AccessError`]; an agent that does not exist and one of a foreign tenant are told alike.
    pub async fn authorize(
        &self,
        principal: &Principal,
        scope: Scope,
        agent: &AgentId,
    ) -> Result<AgentAccess, AccessError> {
        principal.require(scope)?;
        let tenant = self.tenant_of(agent).await;
        let tenant = tenant
            .filter(|tenant| principal.sees(tenant))
            .ok_or(AccessError::UnknownAgent)?;
        Ok(AgentAccess {
            tenant: TenantAccess::grant(tenant),
            agent: agent.clone(),
            actor: principal.actor.clone(),
        })
    }

    /// Leave for a caller to act for a tenant, without an agent: for listings of a whole tenant.
    ///
    /// # Errors
    /// [`AccessError`]; a tenant that does not exist and a foreign one are told alike.
    pub async fn authorize_tenant(
        &self,
        principal: &Principal,
        scope: Scope,
        tenant: &TenantId,
    ) -> Result<TenantAccess, AccessError> {
        principal.require(scope)?;
        if principal.sees(tenant) && self.has_tenant(tenant).await {
            return Ok(TenantAccess::grant(tenant.clone()));
        }
        Err(AccessError::UnknownTenant)
    }

    /// Leave for a caller to look across all tenants for generations that nobody makes any more.
    ///
    /// # Errors
    /// [`AccessError::MissingScope`], or [`AccessError::UnknownTenant`] for a caller that is bound to a tenant.
    pub fn authorize_sweep(&self, principal: &Principal) -> Result<SweepAccess, AccessError> {
        principal.require(Scope::Append)?;
        match principal.tenant {
            None => Ok(SweepAccess::grant()),
            Some(_) => Err(AccessError::UnknownTenant),
        }
    }

    pub(super) async fn has_tenant(&self, tenant: &TenantId) -> bool {
        let shared = self.shared();
        let known = || shared.read(|entries| entries.tenants.contains_key(tenant));
        if known() {
            return true;
        }
        shared.look_up(&tenant_key(tenant)).await;
        known()
    }

    pub(super) async fn tenant_of(&self, agent: &AgentId) -> Option<TenantId> {
        let shared = self.shared();
        let known = || {
            shared.read(|entries| {
                let held = entries.agents.get(agent);
                held.map(|held| held.value.0.clone())
            })
        };
        if let Some(tenant) = known() {
            return Some(tenant);
        }
        shared.look_up(&agent_key(agent)).await;
        known()
    }
}
