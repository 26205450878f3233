//! Context policies: kept by digest and never changed, so that every context can be made again.

use domain::{AgentId, TenantId, Timestamp};
use wire::proto::operate::v1::{Agent, ContextPolicy};
use wire::time;

use super::Registry;
use super::bucket::Change;
use super::entry_keys::policy_key;
use super::error::RegistryError;
use super::secret::Digest;

impl Registry {
    /// Sets how the contexts of an agent are made; `digest` is the SHA-256 of `policy_json`.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] without the agent, or [`RegistryError::Unavailable`].
    pub async fn set_context_policy(
        &self,
        agent: &AgentId,
        digest: &Digest,
        policy_json: &str,
        at: Timestamp,
    ) -> Result<ContextPolicy, RegistryError> {
        let held = self
            .held_agent(agent)
            .ok_or(RegistryError::NotFound { what: "agent" })?;
        let policy = self.keep_policy(&held.value.0, digest, policy_json, at);
        let policy = policy.await?;
        let changed = |agent: Agent| {
            Ok::<_, RegistryError>(Agent {
                context_policy_digest: digest.to_vec().into(),
                ..agent
            })
        };
        self.change_agent(agent, changed).await?;
        Ok(policy)
    }

    /// The policy of a tenant with this digest.
    pub async fn context_policy(
        &self,
        tenant: &TenantId,
        digest: &Digest,
    ) -> Option<ContextPolicy> {
        let held = self.held_policy(tenant, digest);
        if held.is_some() {
            return held;
        }
        self.shared().look_up(&policy_key(tenant, digest)).await;
        self.held_policy(tenant, digest)
    }

    async fn keep_policy(
        &self,
        tenant: &TenantId,
        digest: &Digest,
        policy_json: &str,
        at: Timestamp,
    ) -> Result<ContextPolicy, RegistryError> {
        if let Some(kept) = self.held_policy(tenant, digest) {
            return Ok(kept);
        }
        let made = ContextPolicy {
            digest: digest.to_vec().into(),
            tenant_id: tenant.as_str().to_owned(),
            policy_json: policy_json.to_owned(),
            created_at: Some(time::to_proto(at)),
        };
        let key = policy_key(tenant, digest);
        match self.shared().put(&key, &made, None).await? {
            Change::Made => Ok(made),
            Change::Superseded => Ok(self.held_policy(tenant, digest).unwrap_or(made)),
        }
    }

    fn held_policy(&self, tenant: &TenantId, digest: &Digest) -> Option<ContextPolicy> {
        let key = (tenant.clone(), *digest);
        self.shared().read(|entries| {
            let held = entries.context_policies.get(&key);
            held.map(|held| held.value.clone())
        })
    }
}
