//! Authentication of service tokens and authorization of their callers.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::{Actor, AgentId, Label, SweepAccess, TenantAccess, TenantId, Timestamp};
use http::HeaderMap;
use identity::VerifiedAdmin;
use wire::proto::operate::v1::{Agent, ServiceToken};
use wire::time;

use crate::entry_keys::{agent_key, service_token_key, tenant_key};
use crate::error::Corrupt;
use crate::secret::{digest, id_of, is_service_token};
use crate::{AccessError, Registry, Scope, Scopes, UsedKey};

/// A caller with a valid service token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The id of the token.
    pub token_id: Arc<str>,
    /// The token's name, which commits record.
    pub actor: Actor,
    /// The token's scopes.
    pub scopes: Scopes,
    /// The only tenant that it may access; `None`: all tenants.
    pub tenant: Option<TenantId>,
    /// The only agents that it may act for, all of its tenant; empty: all agents of its tenants.
    pub agents: Arc<BTreeSet<AgentId>>,
    /// When the token expires; `None`: never.
    pub expires_at: Option<Timestamp>,
}

impl Principal {
    /// Converts an entry; `None`: the token is revoked.
    pub(crate) fn from_entry(token: &ServiceToken) -> Result<Option<Self>, Corrupt> {
        let tenant = Some(token.tenant_id.as_str()).filter(|tenant| !tenant.is_empty());
        let agents: BTreeSet<AgentId> = token.agent_ids.iter().map(AgentId::parse).collect::<Result<_, _>>()?;
        if !agents.is_empty() && tenant.is_none() {
            return Err(Corrupt);
        }
        let principal = Self {
            token_id: Arc::from(token.service_token_id.as_str()),
            agents: Arc::new(agents),
            actor: Actor(Label::parse(token.display_name.as_str())?),
            scopes: Scopes::from_proto(token.scopes()),
            tenant: tenant.map(TenantId::parse).transpose()?,
            expires_at: token.expires_at.map(time::from_proto).transpose()?,
        };
        Ok(token.revoked_at.is_none().then_some(principal))
    }

    fn is_valid_at(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| now < end)
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

    /// Whether the token allows an agent. Its tenant must be checked too.
    #[must_use]
    pub fn acts_for(&self, agent: &AgentId) -> bool {
        self.agents.is_empty() || self.agents.contains(agent)
    }

    /// The agent of a token that is bound to exactly one: requests need not name it.
    #[must_use]
    pub fn only_agent(&self) -> Option<&AgentId> {
        self.agents.first().filter(|_| self.agents.len() == 1)
    }

    /// Checks that the token is not bound to agents.
    ///
    /// # Errors
    /// [`AccessError::BoundToAgents`].
    pub fn require_whole_tenant(&self) -> Result<(), AccessError> {
        if self.agents.is_empty() {
            return Ok(());
        }
        Err(AccessError::BoundToAgents)
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
    /// The caller with this bearer token; `None`: unknown, revoked or expired.
    ///
    /// Answers from memory; looks up an unknown token once in the bucket, at a bounded rate. Remembers the use of the token.
    pub async fn authenticate(&self, bearer: &str, now: Timestamp) -> Option<Principal> {
        if !is_service_token(bearer) {
            return None;
        }
        let digest = digest(bearer);
        let id = id_of(&digest);
        let key = || service_token_key(&digest);
        let found = self.shared().find(key, |entries| {
            let is_known = entries.service_tokens.contains_key(&id);
            is_known.then(|| entries.principals.get(&digest).cloned())
        });
        let valid = found.await.flatten().filter(|principal| principal.is_valid_at(now));
        valid.inspect(|principal| self.key_used(UsedKey::ServiceToken(principal.token_id.to_string()), now))
    }

    /// As [`Self::authenticate`], from memory alone, for health checks: a new token may be missing. It never reads the bucket and
    /// remembers no use.
    #[must_use]
    pub fn known_principal(&self, bearer: &str, now: Timestamp) -> Option<Principal> {
        let digest = digest(bearer);
        let known = self.shared().read(|entries| entries.principals.get(&digest).cloned());
        known.filter(|principal| principal.is_valid_at(now))
    }

    /// The id of the service token of these headers, if it is in memory. It never reads the bucket, so do not use the result
    /// for access decisions.
    #[must_use]
    pub fn known_token_id(&self, headers: &HeaderMap) -> Option<Arc<str>> {
        let bearer = wire::bearer::from_headers(headers).filter(|bearer| is_service_token(bearer))?;
        let digest = digest(bearer);
        self.shared().read(|entries| Some(Arc::clone(&entries.principals.get(&digest)?.token_id)))
    }

    /// Authorizes a caller to act for an agent.
    ///
    /// Answers from memory; looks up an unknown agent once in the bucket, at a bounded rate.
    ///
    /// # Errors
    /// [`AccessError`]; the same for a missing agent, for an agent of another tenant, and for one that the token is not bound to.
    pub async fn authorize(
        &self,
        principal: &Principal,
        scope: Scope,
        agent: &AgentId,
    ) -> Result<AgentAccess, AccessError> {
        principal.require(scope)?;
        if !principal.acts_for(agent) {
            return Err(AccessError::UnknownAgent);
        }
        let tenant =
            self.tenant_of(agent).await.filter(|tenant| principal.sees(tenant)).ok_or(AccessError::UnknownAgent)?;
        Ok(AgentAccess { tenant: TenantAccess::grant(tenant), agent: agent.clone(), actor: principal.actor.clone() })
    }

    /// The agent with this id, if the caller may act for it. No scope is needed.
    pub async fn visible_agent(&self, principal: &Principal, agent: &AgentId) -> Option<Agent> {
        if !principal.acts_for(agent) {
            return None;
        }
        let tenant = self.tenant_of(agent).await?;
        self.agent(agent).filter(|_| principal.sees(&tenant))
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

    pub(crate) async fn has_tenant(&self, tenant: &TenantId) -> bool {
        let found =
            self.shared().find(|| tenant_key(tenant), |entries| entries.tenants.contains_key(tenant).then_some(()));
        found.await.is_some()
    }

    pub(crate) async fn tenant_of(&self, agent: &AgentId) -> Option<TenantId> {
        self.shared().find(|| agent_key(agent), |entries| Some(entries.agents.get(agent)?.value.tenant.clone())).await
    }
}
