//! Conversations: what every surface of the gateway does with them.
//!
//! Data comes from the read model (rows) and from the record (commits without rows). This crate appends nothing itself: [`commands`]
//! go to the writer. A read has two steps: [`request`] checks the caller of gRPC, [`open`] that of frontends, and the `history` crate
//! reads one snapshot. [`generation`] runs models; [`generation::call_log`] logs their requests and replies if the agent's settings
//! ask for it; [`answer`] delivers what they answer. [`positions`] of a request fence its reads. This crate knows neither HTTP nor an
//! API's names of fields: surfaces translate them.

pub mod answer;
pub mod assembly;
pub mod audit;
pub mod back_end;
pub mod commands;
pub mod commit_room;
pub mod documents;
pub mod end_user;
pub mod forks;
pub mod frontend_settings;
pub mod generation;
pub mod identity;
pub mod jwks;
pub mod keyed_histories;
pub mod listing;
pub mod message_pages;
pub mod metrics;
pub mod names;
pub mod open;
pub mod page_token;
pub mod policies;
pub mod positions;
pub mod problem;
pub mod quotas;
pub mod request;
pub mod request_hash;
pub mod search;
pub mod token_keys;
pub mod turns;
pub mod watcher;
pub mod writer;
pub mod writer_token;

use std::sync::Arc;

use divergence::Guard;
use domain::{AgentId, CommitId, Timestamp, ToolName};
use history::Reader;
use registry::{Registry, settings_of};
use runs::{Approvals, Disclosure};
use runtime::clock::Clock;
use tokio::sync::Semaphore;
use uuid::{NoContext, Uuid};
use wire::proto::operate::v1::AgentSettings;

use audit::TokenReads;
use commands::Commands;
use generation::Generations;
use message_pages::PAGES_AT_ONCE;
use policies::Policies;
use runtime::compute::Compute;
use token_keys::TokenKeys;
use watcher::Watchers;

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
    /// Acts through these.
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

/// The dependencies of reads. Clones share them.
#[derive(Debug, Clone)]
pub struct Gateway(Arc<Parts>);

/// The parts of a [`Gateway`].
#[derive(Debug)]
pub struct Parts {
    /// Record and rows.
    pub reader: Reader,
    /// Tenants, agents and tokens.
    pub registry: Registry,
    /// The keys that verify tokens of users and administrators.
    pub token_keys: TokenKeys,
    /// The turns of work that tenants make this process compute.
    pub compute: Compute,
    /// The cache of context policies.
    pub policies: Policies,
    /// The limits of watchers.
    pub watchers: Watchers,
    /// Reads by service tokens that audit logs will contain.
    pub token_reads: TokenReads,
    /// Whether rows and record belong together.
    pub guard: Guard,
    /// The clock of this machine, corrected by the time of the record's servers.
    pub clock: Clock,
}

impl Gateway {
    /// A gateway with these parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp(self.clock.now_nanos())
    }

    /// A new idempotency key with the current time, by which the writer judges its age.
    #[must_use]
    pub fn new_key(&self) -> CommitId {
        let now = self.now();
        let seconds = u64::try_from(now.seconds()).unwrap_or_default();
        CommitId(Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, seconds, now.subsecond_nanos())))
    }
}

impl std::ops::Deref for Gateway {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
