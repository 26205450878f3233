//! What every endpoint is given.

use std::sync::Arc;

use domain::{AgentId, ConversationKey, RunId, Timestamp, ToolName};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use runs::Approvals;
use runtime::clock::Clock;
use runtime::health::Health;

use super::commands::Commands;
use super::config::HttpSection;
use super::limits::RateLimits;
use crate::Gateway;
use crate::generation::Generations;

/// What every endpoint is given. Clones share it.
#[derive(Debug, Clone)]
pub struct HttpState {
    /// Reads.
    pub gateway: Gateway,
    /// What is asked of the writer, under the gateway's own token.
    pub commands: Commands,
    /// Runs, under the gateway's own token.
    pub generations: Generations,
    /// How often who may ask.
    pub limits: RateLimits,
    /// Whether the gateway can do its work.
    pub health: Health,
    /// The door's settings.
    pub section: Arc<HttpSection>,
    /// What time it is.
    pub clock: Clock,
}

impl HttpState {
    /// What time it is.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp(self.clock.now_nanos())
    }

    /// Is ready once a run that was heard to its end is finished, within two seconds.
    #[must_use]
    pub fn finished(&self, key: &ConversationKey, run: RunId) -> BoxFuture<'static, ()> {
        let (generations, key) = (self.generations.clone(), key.clone());
        // Where it is not finished in time, the client reads it later.
        let waiting = async move { generations.wait_for_finish(&key, run).await };
        waiting.map(|_place| ()).boxed()
    }

    /// The tools of an agent whose calls a person must approve.
    #[must_use]
    pub fn approvals(&self, agent: &AgentId) -> Approvals {
        let agent = self.gateway.registry.agent(agent);
        let settings = agent.and_then(|agent| agent.settings).unwrap_or_default();
        let asking = settings
            .tools
            .into_iter()
            .filter(|tool| tool.needs_approval);
        let names = asking.filter_map(|tool| ToolName::parse(tool.tool_name).ok());
        names.collect()
    }
}
