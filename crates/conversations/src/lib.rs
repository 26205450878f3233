//! Conversations: what every surface of the gateway does with them.
//!
//! Data comes from the read model (rows) and from the record (commits without rows). This crate appends nothing itself: [`commands`]
//! go to the writer. A read has two steps: [`request`] checks the caller of gRPC, [`open`] that of frontends, [`back_end`] that of
//! back ends; and the `history` crate reads one snapshot. [`turns`] start runs, and [`answer`] delivers what they answer. This crate
//! knows no HTTP. A caller's names of fields are arguments; turns and forks have those of the frontends' API.
//!
//! It re-exports what surfaces need of the crates below: clients, callers and positions of `record_access`, and contexts and quotas of
//! `generation`.

pub mod answer;
pub mod back_end;
pub mod back_end_request;
pub mod create;
pub mod documents;
pub mod end_user;
pub mod forks;
pub mod frontend_settings;
pub mod keyed_histories;
pub mod listing;
pub mod message_pages;
pub mod names;
pub mod open;
pub mod page_token;
pub mod search;
pub mod turns;

use std::sync::Arc;

use domain::{AgentId, ToolName};
use generation::Generations;
use registry::settings_of;
use runs::{Approvals, Disclosure};
use tokio::sync::Semaphore;
use wire::proto::operate::v1::AgentSettings;

pub use generation::{assembly, quotas};
pub use record_access::{
    Gateway, audit, commands, commit_room, identity, jwks, metrics, policies, positions, problem, request,
    request_hash, watcher,
};

use commands::Commands;
use message_pages::PAGES_AT_ONCE;

/// What surfaces act through. Clones share it.
#[derive(Debug, Clone)]
pub struct Conversations {
    /// Reads.
    pub gateway: Gateway,
    /// Commands to the writer.
    pub commands: Commands,
    /// Runs, with the gateway's own token.
    generations: Generations,
    /// Permits of the pages of messages that are read at the same time.
    pages: Arc<Semaphore>,
}

impl Conversations {
    /// Conversations over these clients.
    #[must_use]
    pub fn new(gateway: Gateway, commands: Commands, generations: Generations) -> Self {
        Self { gateway, commands, generations, pages: Arc::new(Semaphore::new(PAGES_AT_ONCE)) }
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
