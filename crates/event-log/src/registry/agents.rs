//! Agents.

use domain::{AgentId, TenantId, Timestamp, Violation};
use wire::proto::operate::v1::{Agent, AgentSettings};
use wire::time;

use super::bucket::Change;
use super::entries::Held;
use super::entry_keys::agent_key;
use super::error::{RegistryError, SettingsError};
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
        let changed = |agent: Agent| {
            Ok::<_, RegistryError>(Agent {
                settings: Some(settings.clone()),
                ..agent
            })
        };
        self.change_agent(agent, changed).await
    }

    /// Changes how an agent works, again where others were faster: nothing that they set is lost.
    ///
    /// # Errors
    /// [`SettingsError`]: what `change` says of the settings, or as [`Registry::set_agent_settings`].
    pub async fn change_agent_settings(
        &self,
        agent: &AgentId,
        change: impl Fn(AgentSettings) -> Result<CheckedSettings, Violation>,
    ) -> Result<Agent, SettingsError> {
        let changed = |mut agent: Agent| {
            let current = agent.settings.take().unwrap_or_default();
            Ok::<_, SettingsError>(Agent {
                settings: Some(change(current)?.into_proto()),
                ..agent
            })
        };
        self.change_agent(agent, changed).await
    }

    /// Changes an agent's entry, again where others were faster.
    pub(super) async fn change_agent<E: From<RegistryError>>(
        &self,
        agent: &AgentId,
        change: impl Fn(Agent) -> Result<Agent, E>,
    ) -> Result<Agent, E> {
        let key = agent_key(agent);
        for _ in 0..CHANGES_MAX {
            let Some(held) = self.held_agent(agent) else {
                return Err(RegistryError::NotFound { what: "agent" }.into());
            };
            let (_, current) = held.value;
            let changed = change(current.clone())?;
            if changed == current {
                return Ok(current);
            }
            let expected = Some(held.revision);
            let put = self.shared().put(&key, &changed, expected).await;
            if put.map_err(RegistryError::from)? == Change::Made {
                return Ok(changed);
            }
        }
        let contended = Unavailable::new("the agent keeps changing");
        Err(RegistryError::from(contended).into())
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
