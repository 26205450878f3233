//! Context policies, stored by digest and immutable, so that every context can be reproduced.

use domain::{AgentId, TenantId, Timestamp};
use wire::proto::operate::v1::{Agent, ContextPolicy};
use wire::time;

use crate::entry_keys::policy_key;
use crate::{Digest, Entries, PutOutcome, Registry, RegistryError};

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
        let entry = self.agent_entry(agent).ok_or(RegistryError::NotFound { what: "agent" })?;
        let policy = self.keep_policy(&entry.value.tenant, digest, policy_json, at).await?;
        let change = |agent: &mut Agent| {
            agent.context_policy_digest = digest.to_vec().into();
            Ok::<_, RegistryError>(())
        };
        self.change_agent(agent, change).await?;
        Ok(policy)
    }

    /// The policy of a tenant with this digest; looks up an unknown one in the bucket.
    pub async fn context_policy(&self, tenant: &TenantId, digest: &Digest) -> Option<ContextPolicy> {
        let id = (tenant.clone(), *digest);
        let known = |entries: &Entries| policy(entries, &id);
        let key = || policy_key(tenant, digest);
        self.shared().find(key, known).await
    }

    async fn keep_policy(
        &self,
        tenant: &TenantId,
        digest: &Digest,
        policy_json: &str,
        at: Timestamp,
    ) -> Result<ContextPolicy, RegistryError> {
        let id = (tenant.clone(), *digest);
        if let Some(kept) = self.shared().read(|entries| policy(entries, &id)) {
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
            PutOutcome::Superseded => {
                let stored = self.shared().read(|entries| policy(entries, &id));
                Ok(stored.unwrap_or(created))
            }
        }
    }
}

fn policy(entries: &Entries, id: &(TenantId, Digest)) -> Option<ContextPolicy> {
    let entry = entries.context_policies.get(id)?;
    Some(entry.value.clone())
}
