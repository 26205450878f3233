//! Which conversations are searched, and how.

use domain::{AgentId, TenantId, Violation, ViolationReason};
use search::Language;
use wire::proto::operate::v1::{SearchSettings, Tenant};

use crate::entries::AgentOfTenant;
use crate::{Entries, Registry, RegistryError};

/// The search settings of an agent; those of its tenant are included.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentSearch {
    /// The tenant.
    pub tenant: TenantId,
    /// The agent.
    pub agent: AgentId,
    /// Whether its conversations are searched.
    pub is_enabled: bool,
    /// The language whose inflections are found as one word.
    pub language: Option<Language>,
}

impl Registry {
    /// Sets whether the conversations of a tenant are searched.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] or [`RegistryError::Unavailable`].
    pub async fn set_tenant_search(&self, tenant: &TenantId, disabled: bool) -> Result<Tenant, RegistryError> {
        let change = |tenant: &mut Tenant| {
            tenant.search_disabled = disabled;
            Ok(())
        };
        self.change_tenant(tenant, change).await
    }

    /// The search settings of all agents, by agent; of one tenant, if it is given.
    #[must_use]
    pub fn agent_searches(&self, tenant: Option<&TenantId>) -> Vec<AgentSearch> {
        self.shared().read(|entries| {
            let agents =
                entries.agents.iter().filter(|(_, entry)| tenant.is_none_or(|tenant| entry.value.tenant == *tenant));
            agents.map(|(id, entry)| agent_search(entries, id, &entry.value)).collect()
        })
    }
}

fn agent_search(entries: &Entries, id: &AgentId, AgentOfTenant { tenant, agent }: &AgentOfTenant) -> AgentSearch {
    let of_tenant = entries.tenants.get(tenant);
    let is_disabled = of_tenant.is_some_and(|entry| entry.value.search_disabled);
    let settings = agent.settings.as_ref().and_then(|settings| settings.search.clone()).unwrap_or_default();
    AgentSearch {
        tenant: tenant.clone(),
        agent: id.clone(),
        is_enabled: !is_disabled && !settings.disabled,
        language: Language::parse(&settings.language),
    }
}

/// Checks the settings of an agent.
pub(crate) fn check_search(settings: &SearchSettings) -> Result<(), Violation> {
    if settings.language.is_empty() || Language::parse(&settings.language).is_some() {
        return Ok(());
    }
    let codes: Vec<&str> = Language::ALL.iter().map(|language| language.code()).collect();
    let rule = format!("must be empty or one of the languages {}", codes.join(", "));
    Err(Violation::new(ViolationReason::Malformed, rule).within("language"))
}
