//! What every handler gets.

use std::ops::Deref;
use std::sync::Arc;

use domain::{AgentId, Timestamp, ToolName};
use registry::settings_of;
use runs::{Approvals, Disclosure};
use runtime::health::Health;
use tokio::sync::Semaphore;
use wire::proto::operate::v1::AgentSettings;

use super::config::HttpSection;
use super::frontend_settings;
use super::rate_limits::RateLimits;
use crate::lag_samples::LagSamples;
use crate::openid::Provider;
use conversations::Conversations;

/// What every handler gets. Clones share it.
#[derive(Debug, Clone)]
pub struct HttpState {
    /// Reads, commands and runs.
    pub conversations: Conversations,
    /// The rate limits.
    pub limits: RateLimits,
    /// The health of the gateway.
    pub health: Health,
    /// The settings.
    pub section: Arc<HttpSection>,
    /// The provider that people of the dashboard sign in with.
    pub provider: Option<Arc<Provider>>,
    /// Permits of the pages of messages that are read at the same time.
    pub pages: Arc<Semaphore>,
    /// The lag of the last minutes.
    pub lag: LagSamples,
}

/// Handlers pass the state on as what they act through.
impl Deref for HttpState {
    type Target = Conversations;

    fn deref(&self) -> &Conversations {
        &self.conversations
    }
}

impl HttpState {
    /// The current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.gateway.now()
    }

    /// The current settings of an agent.
    #[must_use]
    pub fn agent_settings(&self, agent: &AgentId) -> AgentSettings {
        self.gateway.registry.agent(agent).map(settings_of).unwrap_or_default()
    }

    /// What callers of an agent's public API keys get of tool calls.
    #[must_use]
    pub fn disclosure(&self, agent: &AgentId) -> Disclosure {
        frontend_settings::disclosure(&self.agent_settings(agent))
    }

    /// The tools of an agent whose calls need an approval.
    #[must_use]
    pub fn approvals(&self, agent: &AgentId) -> Approvals {
        let tools = self.agent_settings(agent).tools.into_iter();
        tools.filter(|tool| tool.needs_approval).filter_map(|tool| ToolName::parse(tool.tool_name).ok()).collect()
    }
}
