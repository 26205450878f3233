//! How a gateway reaches the record: reads, commands to the writer, callers, positions.
//!
//! [`Gateway`] has the dependencies of reads; [`commands`] go to the [`writer`]; [`request`] and [`identity`] say who the caller is;
//! [`positions`] of a request fence its reads; [`audit`] records them. This crate knows neither HTTP nor runs.

pub mod audit;
pub mod commands;
pub mod commit_room;
pub mod identity;
pub mod jwks;
pub mod metrics;
pub mod policies;
pub mod positions;
pub mod problem;
pub mod request;
pub mod request_hash;
pub mod token_keys;
pub mod watcher;
pub mod writer;
pub mod writer_token;

use std::sync::Arc;

use divergence::Guard;
use domain::{CommitId, Timestamp};
use history::Reader;
use registry::Registry;
use runtime::clock::Clock;
use runtime::compute::Compute;
use uuid::{NoContext, Uuid};

use audit::TokenReads;
use policies::Policies;
use token_keys::TokenKeys;
use watcher::Watchers;

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
