//! Authentication of service tokens and authorization of their callers.

use domain::{Actor, AgentId, Label, SweepAccess, TenantAccess, TenantId};
use http::HeaderMap;
use identity::VerifiedAdmin;
use wire::proto::operate::v1::ServiceToken;

use super::entry_keys::{agent_key, service_token_key, tenant_key};
use super::error::Corrupt;
use super::secret::{SERVICE_TOKEN_PREFIX, digest, id_of};
use super::{AccessError, Registry, Scope, Scopes};

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
    /// Converts an entry; `None`: the token is revoked.
    pub(super) fn from_entry(token: &ServiceToken) -> Result<Option<Self>, Corrupt> {
        let tenant = Some(token.tenant_id.as_str()).filter(|tenant| !tenant.is_empty());
        let principal = Self {
            actor: Actor(Label::parse(token.display_name.as_str())?),
            scopes: Scopes::from_proto(token.scopes()),
            tenant: tenant.map(TenantId::parse).transpose()?,
        };
        Ok(token.revoked_at.is_none().then_some(principal))
    }

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
        let digest = digest(bearer);
        let id = id_of(&digest);
        let key = || service_token_key(&digest);
        let found = self.shared().find(key, |entries| {
            let is_known = entries.service_tokens.contains_key(&id);
            is_known.then(|| entries.principals.get(&digest).cloned())
        });
        found.await.flatten()
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

    /// Authorizes an administrator to act for the tenant; `None`: the tenant does not exist.
    ///
    /// Answers from memory; looks up an unknown tenant once in the bucket, at a bounded rate.
    pub async fn grant_admin(&self, admin: &VerifiedAdmin) -> Option<TenantAccess> {
        let exists = self.has_tenant(admin.tenant()).await;
        exists.then(|| TenantAccess::grant(admin.tenant().clone()))
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
        let found = self.shared().find(
            || tenant_key(tenant),
            |entries| entries.tenants.contains_key(tenant).then_some(()),
        );
        found.await.is_some()
    }

    pub(super) async fn tenant_of(&self, agent: &AgentId) -> Option<TenantId> {
        let found = self.shared().find(
            || agent_key(agent),
            |entries| Some(entries.agents.get(agent)?.value.0.clone()),
        );
        found.await
    }
}
