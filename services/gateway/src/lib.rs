//! Reads: rows and the un-projected tail, folded into fresh context.
//!
//! Data comes from the read model (rows) and from the record (what the rows do not hold yet), and goes to gRPC and HTTP
//! callers. The gateway appends nothing by itself: what it is asked to record goes to the writer. Every read goes one way:
//! [`request`] checks the caller, the `history` crate reads one snapshot, and an endpoint of [`rpc`] or [`http`] writes the
//! answer. [`generation`] runs models; [`generation::call_log`] records their requests and replies where an agent's settings
//! ask for it.

pub mod assembly;
pub mod config;
pub mod generation;
pub mod history_rpc;
pub mod http;
pub mod identity;
pub mod jwks;
pub mod listing;
pub mod metrics;
pub mod page_token;
pub mod policies;
pub mod problem;
pub mod quotas;
pub mod render;
pub mod request;
pub mod retention;
pub mod rpc;
pub mod run;
pub mod token_keys;
pub mod watcher;
pub mod writer;

use std::sync::Arc;

use event_log::Registry;
use history::Reader;

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
    /// Record and rows.
    pub reader: Reader,
    /// Tenants, agents and tokens.
    pub registry: Registry,
    /// The keys by which users' and administrators' tokens are checked.
    pub token_keys: TokenKeys,
    /// Context policies that were used lately.
    pub policies: Policies,
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
