//! Reads from streaming replicas of Postgres, for processes that only read.
//!
//! A handle of one request ([`ReadModel::for_request`]) reads from one replica until a read fails there or the caller needs
//! newer rows; then from the primary, for the rest of the request. The primary contains everything that a replica contains,
//! so two reads of a request never go back in time. Two replicas of one request could.
//!
//! A replica is read while it answers and contains the rows of at most `replica_lag_ms_max` ago: `watch` measures that, and
//! `lag` decides, without I/O. Writes never use replicas.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_gateway_replica_statements_total{replica}` | statements | answered by a replica of Postgres; some answer several requests |
//! | `hansard_gateway_replica_fallbacks_total{replica,reason}` | 1 | reads that a replica of Postgres did not answer; reason `lagging` or `unreachable` (it was not asked, or was lost), `behind` (it lacks a position or a conversation), `conflict` (with the replay of the log), `failed` |
//! | `hansard_gateway_replica_lag_seconds{replica}` | s | upper bound of the lag of a replica of Postgres, as measured last |
//! | `hansard_gateway_replica_reachable{replica}` | 1 | 1: the replica of Postgres answered the last measurement |

mod config;
mod lag;
mod measure;
mod pin;
mod status;
mod watch;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use metrics::{Counter, counter};
use tokio::sync::watch::Sender;
use tokio::time::Instant;

pub use self::config::{REPLICA_LAG_MS_MAX, REPLICA_LAG_MS_MIN, REPLICAS_MAX, ReplicatedReadModelConfig};
use self::lag::Health;
pub(crate) use self::pin::Pin;
pub use self::pin::ReplicaUse;
pub use self::status::{ReplicaStatus, replica_status};
use crate::config::ReadModelConfig;
use crate::connections::Connections;
use crate::database_url;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::refusal::server_of;

/// Why a read does not use a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fallback {
    /// It does not answer, or a connection was lost and it was not measured since.
    Unreachable,
    /// It lags too far behind.
    Lagging,
    /// Its rows do not contain what the read needs: a position, or a conversation.
    Behind,
    /// It cancelled the statement, which conflicted with the replay of the log.
    Conflict,
    /// The statement failed otherwise.
    Failed,
}

impl Fallback {
    fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Lagging => "lagging",
            Self::Behind => "behind",
            Self::Conflict => "conflict",
            Self::Failed => "failed",
        }
    }
}

/// The replicas of a process.
#[derive(Debug)]
pub(crate) struct Replicas {
    all: Vec<Arc<Replica>>,
    /// The replica that the next request tries first, modulo their number.
    next: AtomicUsize,
    lag_max: Duration,
    /// Measures the primary, over a connection of its own.
    primary: ReadModel,
}

/// A replica.
pub(crate) struct Replica {
    name: String,
    connections: Connections,
    /// Measures the replica, over a connection of its own: the others may all be in use.
    probe: ReadModel,
    health: Sender<Health>,
    statements: Counter,
}

impl Replicas {
    /// The replicas of a configuration; `None`: it has none.
    pub(crate) fn new(config: &ReplicatedReadModelConfig) -> Result<Option<Self>, ReadModelError> {
        let replicas = config.replica_urls.iter().map(|url| Replica::new(url, config));
        let all: Vec<Arc<Replica>> =
            replicas.map(|replica| Ok(Arc::new(replica?))).collect::<Result<_, ReadModelError>>()?;
        if all.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            all,
            next: AtomicUsize::new(0),
            lag_max: Duration::from_millis(config.replica_lag_ms_max),
            primary: ReadModel::connect_lazy(&probe_config(config, &config.primary.database_url))?,
        }))
    }

    /// The replica for the next request: they take turns. `None`: none can be read.
    fn choose(&self) -> Option<Pin> {
        let first = self.next.fetch_add(1, Ordering::Relaxed) % self.all.len();
        let (after, before) = (self.all.iter().enumerate().skip(first), self.all.iter());
        let in_turn = after.chain(before.enumerate().take(first));
        let now = Instant::now();
        for (index, replica) in in_turn {
            let health = *replica.health.borrow();
            match health.check(now, self.lag_max) {
                Ok(()) => return Some(Pin::new(Arc::clone(replica), index, health.generation)),
                Err(reason) => replica.count_fallback(reason),
            }
        }
        None
    }
}

impl Replica {
    fn new(url: &str, config: &ReplicatedReadModelConfig) -> Result<Self, ReadModelError> {
        let name = server_name(url)?;
        let reads = ReadModelConfig {
            database_url: url.to_owned(),
            connections_max: config.primary.connections_max,
            ..config.primary.clone()
        };
        Ok(Self {
            connections: Connections::of(&reads)?,
            probe: ReadModel::connect_lazy(&probe_config(config, url))?,
            health: Sender::new(Health::default()),
            statements: counter!("hansard_gateway_replica_statements_total", "replica" => name.clone()),
            name,
        })
    }

    /// Marks a replica that lost a connection: it is not read until it was measured again. `generation` is the one in which that
    /// was noticed.
    fn lose(&self, generation: u64) {
        self.health.send_if_modified(|health| {
            let is_current = health.generation == generation;
            if is_current {
                *health = Health { generation: generation + 1, ..Health::default() };
            }
            is_current
        });
        self.connections.close_idle();
    }

    fn count_fallback(&self, reason: Fallback) {
        let (name, reason) = (self.name.clone(), reason.as_str());
        counter!("hansard_gateway_replica_fallbacks_total", "replica" => name, "reason" => reason).increment(1);
    }
}

impl fmt::Debug for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replica").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The name of the server of a URL in metrics and errors: its address without credentials.
///
/// # Errors
/// [`ReadModelError::Misconfigured`].
pub fn server_name(url: &str) -> Result<String, ReadModelError> {
    database_url::parse(url).map(|options| server_of(&options))
}

/// One connection to the server of a URL.
fn probe_config(config: &ReplicatedReadModelConfig, url: &str) -> ReadModelConfig {
    ReadModelConfig { database_url: url.to_owned(), connections_max: 1, ..config.primary.clone() }
}

#[cfg(test)]
mod tests;
