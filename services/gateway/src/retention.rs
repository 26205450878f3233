//! Retention: a background job that erases and archives conversations by the agents' rules.
//!
//! Rules come from the registry, conversations from the rows. Changes go through the writer under the gateway's own token.
//! Any number of gateways may run the job, and each may stop at any point: a change names the version of the row that it was
//! decided on, so it fails after new events; its idempotency key is the same on all gateways, so it happens once. A round
//! starts when the rows have reached the end of the record, and is postponed otherwise: rows that are behind would miscount
//! the conversations of an owner.
//!
//! Documents that have expired are deleted in each round, of all agents: a deletion keeps the name usable, unlike an erasure. Those of an
//! archived conversation stay until it is restored or erased. Documents and rules have the limits of a round each for themselves, so
//! that neither delays the other.
//!
//! A conversation of a session that has nothing but its creation is erased after a day, whatever the rules.
//!
//! A conversation with an active run is skipped. A conversation with forks is erased only after its forks, because they read
//! through it.

mod change;
pub mod config;
mod documents;
pub mod metrics;
mod progress;
mod resume_points;
mod round;
mod rules;

use std::convert::Infallible;
use std::time::Duration;

use event_log::{Record, Unavailable};
use read_model::{ReadModel, ReadModelError};
use registry::Registry;
use runtime::clock::Clock;
use runtime::config::Secret;
use runtime::every::after_every;
use runtime::shutdown::Shutdown;
use thiserror::Error;
use tokio::time::Instant;
use tracing::Instrument as _;

pub use config::{Limits, RetentionConfig};
pub use progress::FAILURES_MAX;
pub use resume_points::ResumePoints;
pub use round::{PAGES_PER_RULE_MAX, round};

use conversations::commands::Commands;

/// The dependencies of the job. Clones share them.
#[derive(Debug, Clone)]
pub struct Dependencies {
    /// The record.
    pub record: Record,
    /// The agents and their rules.
    pub registry: Registry,
    /// The rows of one database, whose tenants a round processes; of all databases for [`start`].
    pub read_model: ReadModel,
    /// Changes.
    pub commands: Commands,
    /// The gateway's own token: scopes append and read, any tenant.
    pub token: Secret,
    /// The clock.
    pub clock: Clock,
}

/// The counts of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Agents with rules.
    pub agents: usize,
    /// Conversations that it erased or archived, or whose expired documents it deleted.
    pub changed: u32,
    /// Conversations that another process changed, or that have new events.
    pub settled: u32,
    /// Failed changes and failed reads of pages.
    pub failed: u32,
    /// Agents that it did not process completely.
    pub left_over: usize,
}

impl Tally {
    /// These counts, with the changes of another part of the round.
    fn with_changes_of(self, other: &Self) -> Self {
        Self {
            changed: self.changed.saturating_add(other.changed),
            settled: self.settled.saturating_add(other.settled),
            failed: self.failed.saturating_add(other.failed),
            ..self
        }
    }
}

/// Why a round was postponed or ended early.
#[derive(Debug, Error)]
pub enum RoundError {
    /// The rules may be outdated: wait for the registry.
    #[error("the gateway receives no changes of the registry")]
    RegistryStale,
    /// Conversations cannot be counted yet: wait for the projector.
    #[error("the rows are behind the record")]
    RowsBehind,
    /// The gateway's own token is invalid or lacks a scope.
    #[error("the gateway's own token does not allow it")]
    Refused,
    /// The record does not answer.
    #[error("the record is unavailable")]
    Record(#[from] Unavailable),
    /// The rows cannot be read.
    #[error("the rows cannot be read")]
    ReadModel(#[from] ReadModelError),
}

/// Runs rounds until `shutdown` begins, if the configuration enables them. Each database has rounds of its own, so that one that does
/// not answer delays no others. Needs a tokio runtime.
pub fn start(deps: &Dependencies, config: &RetentionConfig, shutdown: &Shutdown) {
    let Some(every) = config.every() else { return };
    for read_model in deps.read_model.databases() {
        let deps = Dependencies { read_model, ..deps.clone() };
        shutdown.spawn_cancellable(run_rounds(deps, config.limits(), every));
    }
}

async fn run_rounds(deps: Dependencies, limits: Limits, every: Duration) -> Infallible {
    let mut resume_points = ResumePoints::default();
    let mut rounds = after_every(every);
    loop {
        rounds.next().await;
        let began = Instant::now();
        let span = tracing::info_span!("gateway.retention.round");
        let result = round(&deps, &limits, &mut resume_points).instrument(span).await;
        metrics::round_ended(&result, began.elapsed());
        log(&result, began.elapsed());
    }
}

fn log(result: &Result<Tally, RoundError>, took: Duration) {
    match result {
        Ok(tally) if tally.agents == 0 && tally.changed == 0 && tally.failed == 0 => {}
        Ok(tally) => tracing::info!(
            agents = tally.agents,
            changed = tally.changed,
            settled = tally.settled,
            failed = tally.failed,
            left_over = tally.left_over,
            took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            "a retention round is complete"
        ),
        Err(RoundError::Refused) => {
            tracing::error!("retention cannot run: set `writer_token`, with append, read and erase");
        }
        Err(error) => tracing::warn!(%error, "a retention round is postponed"),
    }
}
