//! Context policies, stored by digest and immutable, so that every context can be reproduced.

use domain::{AgentId, TenantId, Timestamp};
use wire::proto::operate::v1::{Agent, ContextPolicy};
use wire::time;

use super::Registry;
use super::bucket::PutOutcome;
use super::entry_keys::policy_key;
use super::error::RegistryError;
use super::secret::Digest;

impl Registry {
    /// Sets the context policy of an agent; `digest` is the SHA-256 of `policy_json`.
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
        let entry = self
            .agent_entry(agent)
            .ok_or(RegistryError::NotFound { what: "agent" })?;
        let policy = self.keep_policy(&entry.value.0, digest, policy_json, at);
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

    /// The policy of a tenant with this digest; looks up an unknown one in the bucket.
    pub async fn context_policy(
        &self,
        tenant: &TenantId,
        digest: &Digest,
    ) -> Option<ContextPolicy> {
        let entry = self.policy_in_memory(tenant, digest);
        if entry.is_some() {
            return entry;
        }
        self.shared().look_up(&policy_key(tenant, digest)).await;
        self.policy_in_memory(tenant, digest)
    }

    async fn keep_policy(
        &self,
        tenant: &TenantId,
        digest: &Digest,
        policy_json: &str,
        at: Timestamp,
    ) -> Result<ContextPolicy, RegistryError> {
        if let Some(kept) = self.policy_in_memory(tenant, digest) {
            return Ok(kept);
        }
        let created = ContextPolicy {
            digest: digest.to_vec().into(),
            tenant_id: tenant.as_str().to_owned(),
            policy_json: policy_json.to_owned(),
            created_at: Some(time::to_proto(at)),
        };
        let key = policy_key(tenant, digest);
        match self.shared().put(&key, &created, None).await? {
            PutOutcome::Stored => Ok(created),
            PutOutcome::Superseded => Ok(self.policy_in_memory(tenant, digest).unwrap_or(created)),
        }
    }

    fn policy_in_memory(&self, tenant: &TenantId, digest: &Digest) -> Option<ContextPolicy> {
        let key = (tenant.clone(), *digest);
        self.shared().read(|entries| {
            let entry = entries.context_policies.get(&key);
            entry.map(|entry| entry.value.clone())
        })
    }
}
