//! Agents.

use domain::{AgentId, TenantId, Timestamp};
use wire::proto::operate::v1::Agent;
use wire::time;

use super::bucket::Change;
use super::entries::{Held, agent_key};
use super::error::RegistryError;
use super::settings::CheckedSettings;
use super::{CHANGES_MAX, Registry};
use crate::error::Unavailable;

impl Registry {
    /// Makes an agent of a tenant.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] without the tenant, [`RegistryError::AlreadyExists`] when any tenant has an agent of
    /// this id, or [`RegistryError::Unavailable`].
    pub async fn create_agent(
        &self,
        tenant: &TenantId,
        agent: &AgentId,
        display_name: &str,
        at: Timestamp,
    ) -> Result<Agent, RegistryError> {
        if !self.has_tenant(tenant).await {
            return Err(RegistryError::NotFound { what: "tenant" });
        }
        let made = Agent {
            agent_id: agent.as_str().to_owned(),
            tenant_id: tenant.as_str().to_owned(),
            display_name: display_name.to_owned(),
            created_at: Some(time::to_proto(at)),
            ..Agent::default()
        };
        let key = agent_key(agent);
        self.shared().create(&key, &made, "agent").await?;
        Ok(made)
    }

    /// Sets how an agent works, all of it.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] or [`RegistryError::Unavailable`].
    pub async fn set_agent_settings(
        &self,
        agent: &AgentId,
        settings: CheckedSettings,
    ) -> Result<Agent, RegistryError> {
        let settings = settings.into_proto();
        let changed = |agent: Agent| Agent {
            settings: Some(settings.clone()),
            ..agent
        };
        self.change_agent(agent, changed).await
    }

    /// Changes an agent's entry, again where others were faster.
    pub(super) async fn change_agent(
        &self,
        agent: &AgentId,
        change: impl Fn(Agent) -> Agent,
    ) -> Result<Agent, RegistryError> {
        let key = agent_key(agent);
        for _ in 0..CHANGES_MAX {
            let Some(held) = self.held_agent(agent) else {
                return Err(RegistryError::NotFound { what: "agent" });
            };
            let (_, current) = held.value;
            let changed = change(current.clone());
            if changed == current {
                return Ok(current);
            }
            let expected = Some(held.revision);
            if self.shared().put(&key, &changed, expected).await? == Change::Made {
                return Ok(changed);
            }
        }
        Err(Unavailable::new("the agent keeps changing").into())
    }

    /// Every agent of a tenant, by id.
    #[must_use]
    pub fn list_agents(&self, tenant: &TenantId) -> Vec<Agent> {
        self.shared().read(|entries| {
            let all = entries.agents.values();
            let theirs = all.filter(|held| held.value.0 == *tenant);
            theirs.map(|held| held.value.1.clone()).collect()
        })
    }

    /// The agent with this id.
    #[must_use]
    pub fn agent(&self, agent: &AgentId) -> Option<Agent> {
        self.held_agent(agent).map(|held| held.value.1)
    }

    pub(super) fn held_agent(&self, agent: &AgentId) -> Option<Held<(TenantId, Agent)>> {
        self.shared()
            .read(|entries| entries.agents.get(agent).cloned())
    }
}
