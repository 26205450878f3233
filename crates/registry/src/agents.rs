//! Agents and their settings.

use domain::{AgentId, DisplayName, TenantId, Timestamp, Violation};
use wire::proto::operate::v1::{Agent, AgentSettings, ToolCallDetail};
use wire::time;

use crate::entries::AgentOfTenant;
use crate::entry_keys::agent_key;
use crate::{CheckedSettings, Entries, Entry, Registry, RegistryError, SettingsError};

impl Registry {
    /// Creates an agent of a tenant.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] without the tenant, [`RegistryError::AlreadyExists`] when any tenant has an agent with
    /// this id, or [`RegistryError::Unavailable`].
    pub async fn create_agent(
        &self,
        tenant: &TenantId,
        agent: &AgentId,
        display_name: &DisplayName,
        at: Timestamp,
    ) -> Result<Agent, RegistryError> {
        if !self.has_tenant(tenant).await {
            return Err(RegistryError::NotFound { what: "tenant" });
        }
        let created = Agent {
            agent_id: agent.as_str().to_owned(),
            tenant_id: tenant.as_str().to_owned(),
            display_name: display_name.to_string(),
            created_at: Some(time::to_proto(at)),
            tool_calls_default: ToolCallDetail::Names.into(),
            ..Agent::default()
        };
        let key = agent_key(agent);
        self.shared().create(&key, &created, "agent").await?;
        Ok(created)
    }

    /// Replaces all settings of an agent.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] or [`RegistryError::Unavailable`].
    pub async fn set_agent_settings(&self, agent: &AgentId, settings: CheckedSettings) -> Result<Agent, RegistryError> {
        let change = |agent: &mut Agent| {
            agent.settings = Some(settings.0.clone());
            Ok(())
        };
        self.change_agent(agent, change).await
    }

    /// Changes the settings of an agent; retries after a concurrent change, so no change is lost.
    ///
    /// # Errors
    /// [`SettingsError`] of `change`, or as [`Registry::set_agent_settings`].
    pub async fn change_agent_settings(
        &self,
        agent: &AgentId,
        change: impl Fn(AgentSettings) -> Result<CheckedSettings, Violation>,
    ) -> Result<Agent, SettingsError> {
        let change = |agent: &mut Agent| {
            let current = agent.settings.take().unwrap_or_default();
            agent.settings = Some(change(current)?.0);
            Ok(())
        };
        self.change_agent(agent, change).await
    }

    /// Changes an agent's entry; retries after a concurrent change.
    pub(crate) async fn change_agent<E: From<RegistryError>>(
        &self,
        agent: &AgentId,
        change: impl Fn(&mut Agent) -> Result<(), E>,
    ) -> Result<Agent, E> {
        let find = |entries: &Entries| {
            let Entry { revision, value } = entries.agents.get(agent)?.clone();
            Some(Entry { revision, value: value.agent })
        };
        let key = |_: &Agent| agent_key(agent);
        self.shared().update("agent", find, key, change).await
    }

    /// All agents of a tenant, by id.
    #[must_use]
    pub fn list_agents(&self, tenant: &TenantId) -> Vec<Agent> {
        self.shared().read(|entries| {
            let of_tenant = entries.agents.values().filter(|entry| entry.value.tenant == *tenant);
            of_tenant.map(|entry| entry.value.agent.clone()).collect()
        })
    }

    /// The agent of a tenant that has only one.
    #[must_use]
    pub fn only_agent(&self, tenant: &TenantId) -> Option<AgentId> {
        self.shared().read(|entries| {
            let mut of_tenant = entries.agents.iter().filter(|(_, entry)| entry.value.tenant == *tenant);
            let (only, _) = of_tenant.next()?;
            of_tenant.next().is_none().then(|| only.clone())
        })
    }

    /// The agent with this id.
    #[must_use]
    pub fn agent(&self, agent: &AgentId) -> Option<Agent> {
        self.agent_entry(agent).map(|entry| entry.value.agent)
    }

    pub(crate) fn agent_entry(&self, agent: &AgentId) -> Option<Entry<AgentOfTenant>> {
        self.shared().read(|entries| entries.agents.get(agent).cloned())
    }
}

/// The settings of an agent, with its default where they do not say what frontends get of tool calls.
#[must_use]
pub fn settings_of(agent: Agent) -> AgentSettings {
    let unspecified = i32::from(ToolCallDetail::Unspecified);
    let mut settings = agent.settings.unwrap_or_default();
    if agent.tool_calls_default != unspecified {
        let frontend = settings.frontend.get_or_insert_default();
        if frontend.tool_calls == unspecified {
            frontend.tool_calls = agent.tool_calls_default;
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use wire::proto::operate::v1::FrontendSettings;

    use super::*;

    #[test]
    fn frontends_get_the_tool_calls_that_the_settings_or_the_agent_say() {
        use ToolCallDetail::{Full, Hidden, Names, Unspecified};
        for (default, set, expected) in [
            // An agent of an earlier version.
            (Unspecified, None, Unspecified),
            (Unspecified, Some(Hidden), Hidden),
            (Names, None, Names),
            (Names, Some(Unspecified), Names),
            (Names, Some(Full), Full),
            (Names, Some(Hidden), Hidden),
        ] {
            let frontend = set.map(|set| FrontendSettings { tool_calls: set.into(), ..FrontendSettings::default() });
            let settings = Some(AgentSettings { frontend, ..AgentSettings::default() });
            let agent = Agent { tool_calls_default: default.into(), settings, ..Agent::default() };
            let found = settings_of(agent).frontend.unwrap_or_default().tool_calls();
            assert_eq!(found, expected, "{default:?} {set:?}");
        }
    }
}
