//! Service tokens: bearer tokens of internal services.

use std::collections::BTreeSet;

use domain::{AgentId, Label, TenantId, Timestamp};
use wire::proto::operate::v1::ServiceToken;
use wire::time;

use crate::entry_keys::service_token_key;
use crate::secret::{SERVICE_TOKEN_PREFIX, digest, id_of};
use crate::{Entries, Registry, RegistryError, Scopes, Secret};

/// Maximum number of agents that a token is bound to.
pub const TOKEN_AGENTS_MAX: usize = 64;

/// The properties of a new service token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewServiceToken {
    /// Its name, the actor of its commits.
    pub display_name: Label,
    /// Its scopes; at least one.
    pub scopes: Scopes,
    /// The only tenant that it may access; `None`: all tenants, or the tenant of its agents.
    pub tenant: Option<TenantId>,
    /// The only agents that it may act for, at most [`TOKEN_AGENTS_MAX`]; empty: all agents of its tenants.
    pub agents: BTreeSet<AgentId>,
    /// When it expires; `None`: never.
    pub expires_at: Option<Timestamp>,
}

impl Registry {
    /// Creates a service token. The secret is not stored; this call returns it for the only time.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] without the tenant, or without one of the agents in it; [`RegistryError::TooMany`] agents;
    /// [`RegistryError::Unavailable`].
    pub async fn create_service_token(
        &self,
        new: NewServiceToken,
        at: Timestamp,
    ) -> Result<(ServiceToken, Secret), RegistryError> {
        if let Some(tenant) = &new.tenant
            && !self.has_tenant(tenant).await
        {
            return Err(RegistryError::NotFound { what: "tenant" });
        }
        let tenant = self.tenant_of_agents(&new).await?;
        let secret = Secret::generate(SERVICE_TOKEN_PREFIX);
        let digest = digest(secret.reveal());
        let created = ServiceToken {
            service_token_id: id_of(&digest),
            display_name: new.display_name.as_str().to_owned(),
            scopes: new.scopes.to_proto(),
            tenant_id: tenant.map_or_else(String::new, |tenant| tenant.to_string()),
            created_at: Some(time::to_proto(at)),
            revoked_at: None,
            token_sha256: digest.to_vec().into(),
            agent_ids: new.agents.iter().map(AgentId::to_string).collect(),
            expires_at: new.expires_at.map(time::to_proto),
            last_used_at: None,
        };
        let key = service_token_key(&digest);
        self.shared().create(&key, &created, "service token").await?;
        Ok((without_digest(created), secret))
    }

    /// The tenant of a new token: all of its agents belong to it.
    async fn tenant_of_agents(&self, new: &NewServiceToken) -> Result<Option<TenantId>, RegistryError> {
        if new.agents.len() > TOKEN_AGENTS_MAX {
            let (what, max) = ("agents of a token", TOKEN_AGENTS_MAX);
            return Err(RegistryError::TooMany { what, max });
        }
        let mut bound = new.tenant.clone();
        for agent in &new.agents {
            let tenant =
                self.tenant_of(agent).await.filter(|tenant| bound.as_ref().is_none_or(|bound| bound == tenant));
            bound = Some(tenant.ok_or(RegistryError::NotFound { what: "agent" })?);
        }
        Ok(bound)
    }

    /// Revokes a token; a revoked token keeps its time.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] or [`RegistryError::Unavailable`].
    pub async fn revoke_service_token(&self, id: &str, at: Timestamp) -> Result<ServiceToken, RegistryError> {
        let find = |entries: &Entries| entries.service_tokens.get(id).cloned();
        let key = |token: &ServiceToken| service_token_key(&token.token_sha256);
        let revoke = |token: &mut ServiceToken| {
            token.revoked_at.get_or_insert(time::to_proto(at));
            Ok::<_, RegistryError>(())
        };
        let revoked = self.shared().update("service token", find, key, revoke);
        Ok(without_digest(revoked.await?))
    }

    /// All service tokens, by id, including revoked ones, without their SHA-256.
    #[must_use]
    pub fn list_service_tokens(&self) -> Vec<ServiceToken> {
        self.shared()
            .read(|entries| entries.service_tokens.values().map(|entry| without_digest(entry.value.clone())).collect())
    }

    /// The service token with this id, without its SHA-256.
    #[must_use]
    pub fn service_token(&self, id: &str) -> Option<ServiceToken> {
        let find = |entries: &Entries| entries.service_tokens.get(id).cloned();
        let entry = self.shared().read(find);
        entry.map(|entry| without_digest(entry.value))
    }
}

/// Removes the digest, which callers must not see.
fn without_digest(mut token: ServiceToken) -> ServiceToken {
    token.token_sha256.clear();
    token
}
