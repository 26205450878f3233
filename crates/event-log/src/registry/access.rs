//! Authentication of service tokens and authorization of their callers.

use domain::{Actor, AgentId, SweepAccess, TenantAccess, TenantId};
use http::HeaderMap;

use super::Registry;
use super::entry_keys::{agent_key, service_token_key, tenant_key};
use super::error::AccessError;
use super::scope::{Scope, Scopes};
use super::secret::{SERVICE_TOKEN_PREFIX, digest};

/// A caller with a valid service token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The token's name, which commits record.
    pub actor: Actor,
    /// The token's scopes.
    pub scopes: Scopes,
    /// The only tenant that it may access; `None`: all tenants.
    pub tenant: Option<TenantId>,
}

impl Principal {
    /// Checks that the caller has a scope.
    ///
    /// # Errors
    /// [`AccessError::MissingScope`].
    pub fn require(&self, scope: Scope) -> Result<(), AccessError> {
        if self.scopes.contains(scope) {
            return Ok(());
        }
        Err(AccessError::MissingScope(scope))
    }

    /// Whether the caller may access a tenant.
    #[must_use]
    pub fn sees(&self, tenant: &TenantId) -> bool {
        self.tenant.as_ref().is_none_or(|bound| bound == tenant)
    }
}

/// Permission to act for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentAccess {
    /// Access to the agent's tenant.
    pub tenant: TenantAccess,
    /// The agent.
    pub agent: AgentId,
    /// The actor of commits.
    pub actor: Actor,
}

impl Registry {
    /// The caller with this bearer token; `None`: unknown or revoked.
    ///
    /// Answers from memory; looks up an unknown token once in the bucket, at a bounded rate.
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

    /// Whether the service token of these headers is in memory. It never reads the bucket, so do not use the result for access
    /// decisions.
    #[must_use]
    pub fn has_service_token(&self, headers: &HeaderMap) -> bool {
        let Some(bearer) = wire::bearer::from_headers(headers) else {
            return false;
        };
        let digest = digest(bearer);
        self.shared()
            .read(|entries| entries.principals.contains_key(&digest))
    }

    /// Authorizes a caller to act for an agent.
    ///
    /// Answers from memory; looks up an unknown agent once in the bucket, at a bounded rate.
    ///
    /// # Errors
    /// [`AccessError`]; the same for a missing agent and for an agent of another tenant.
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

    /// Authorizes a caller to act for a whole tenant, such as for its listings.
    ///
    /// # Errors
    /// [`AccessError`]; the same for a missing tenant and for another tenant.
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

    /// Authorizes a caller to search all tenants for abandoned generations.
    ///
    /// # Errors
    /// [`AccessError::MissingScope`], or [`AccessError::UnknownTenant`] for a token of a single tenant.
    pub fn authorize_sweep(&self, principal: &Principal) -> Result<SweepAccess, AccessError> {
        principal.require(Scope::Append)?;
        match principal.tenant {
            None => Ok(SweepAccess::grant()),
            Some(_) => Err(AccessError::UnknownTenant),
        }
    }

    pub(super) async fn has_tenant(&self, tenant: &TenantId) -> bool {
        let shared = self.shared();
        let is_known = || shared.read(|entries| entries.tenants.contains_key(tenant));
        if is_known() {
            return true;
        }
        shared.look_up(&tenant_key(tenant)).await;
        is_known()
    }

    pub(super) async fn tenant_of(&self, agent: &AgentId) -> Option<TenantId> {
        let shared = self.shared();
        let known = || {
            shared.read(|entries| {
                let entry = entries.agents.get(agent);
                entry.map(|entry| entry.value.0.clone())
            })
        };
        if let Some(tenant) = known() {
            return Some(tenant);
        }
        shared.look_up(&agent_key(agent)).await;
        known()
    }
}
