//! Reads: rows and the un-projected tail, folded into fresh context.
//!
//! Data comes from the read model (rows) and from the record (what the rows do not hold yet), and goes to gRPC and HTTP
//! callers. The gateway appends nothing by itself: what it is asked to record goes to the writer. Every read goes one way:
//! [`request`] says who asks for what, [`fresh`] reads the rows and the record's last commit at the same time, [`tail`]
//! fetches what lies between, and an endpoint of [`rpc`] shapes the answer. What a fork shares with the conversations behind
//! it comes from [`lineage`]. [`generation`] has models answer, and [`call_log`] keeps what they were asked, where it is
//! wanted.

pub mod assembly;
pub mod call_log;
pub mod config;
pub mod fence;
pub mod fresh;
pub mod generation;
pub mod history;
pub mod history_rpc;
pub mod http;
pub mod identity;
pub mod jwks;
pub mod lineage;
pub mod listing;
pub mod metrics;
pub mod page;
pub mod page_token;
pub mod patience;
pub mod policies;
pub mod present;
pub mod problem;
pub mod quotas;
pub mod recent;
pub mod render;
pub mod request;
pub mod retention;
pub mod rewinds;
pub mod rpc;
pub mod run;
pub mod tail;
pub mod token_keys;
pub mod watcher;
pub mod window;
pub mod writer;

use std::sync::Arc;
use std::time::Duration;

use event_log::{Record, Registry};
use read_model::ReadModel;

use policies::Policies;
use token_keys::TokenKeys;
use watcher::WatchRules;

pub use config::GatewayConfig;
pub use run::{Running, start};

/// What every read needs. Clones share it.
#[derive(Debug, Clone)]
pub struct Gateway(Arc<Parts>);

/// The parts of a [`Gateway`].
#[derive(Debug)]
pub struct Parts {
    /// The record.
    pub record: Record,
    /// Tenants, agents and tokens.
    pub registry: Registry,
    /// The keys by which users' and administrators' tokens are checked.
    pub token_keys: TokenKeys,
    /// Context policies that were used lately.
    pub policies: Policies,
    /// The rows.
    pub read_model: ReadModel,
    /// The longest wait for a position to be reached.
    pub fence_wait: Duration,
    /// What watchers keep to.
    pub watch: WatchRules,
}

impl Gateway {
    /// A gateway of these parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }
}

impl std::ops::Deref for Gateway {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
