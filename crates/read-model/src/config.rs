//! Configuration of the database connections.

mod shards;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::shards::{SHARD_NAME_BYTES_MAX, SHARD_TENANTS_MAX, SHARDS_MAX, ShardConfig};
use crate::database_url;

/// Maximum number of connections of one process.
pub const CONNECTIONS_MAX: u32 = 1_000;
/// Upper bound of the timeout of statements, in milliseconds.
pub const TIMEOUT_MS_MAX: u64 = 60_000;

/// Timeout for getting a connection.
const fn acquire_timeout_ms() -> u64 {
    2_000
}

/// URL, connection limit and timeouts of the database.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadModelConfig {
    /// The URL of Postgres 16, 17 or 18, or of `PgBouncer`: `postgres://user@host:port/database`; `?host=/folder` uses a Unix socket, which is faster. Over TCP,
    /// `?sslmode=verify-full&sslrootcert=FILE` requires TLS and a certificate for that host by a CA of the file; without a
    /// file, by a CA of the system. By default, TLS is used if the server offers it, and certificates are not verified.
    pub database_url: String,
    /// Maximum number of open connections, to each replica too. Raise it if calls wait for a connection and Postgres is not busy.
    pub connections_max: u32,
    /// Timeout for getting a connection, in milliseconds. It is no setting: a longer wait would only hide that there are too few
    /// connections.
    #[serde(skip, default = "acquire_timeout_ms")]
    pub acquire_timeout_ms: u64,
    /// Timeout of one statement, in milliseconds. Raise it if statements of large tenants or on slow disks are cancelled.
    pub statement_timeout_ms: u64,
    /// Further databases, at most 16, each with the rows of some tenants. The first one has those of all others. Use the same names and
    /// tenants for all roles. Add one if one Postgres cannot write or keep the rows of all tenants.
    #[serde(default)]
    pub shards: Vec<ShardConfig>,
}

impl ReadModelConfig {
    /// 10 connections, 2 s to get one, 5 s per statement.
    #[must_use]
    pub fn new(database_url: impl Into<String>) -> Self {
        Self {
            database_url: database_url.into(),
            connections_max: 10,
            acquire_timeout_ms: acquire_timeout_ms(),
            statement_timeout_ms: 5_000,
            shards: Vec::new(),
        }
    }
}

impl Default for ReadModelConfig {
    fn default() -> Self {
        Self::new("postgres://hansard@127.0.0.1:5432/hansard")
    }
}

impl ReadModelConfig {
    /// The invalid settings: each key with its rule and the remedy.
    #[must_use]
    pub fn errors(&self) -> Vec<(&'static str, String)> {
        let mut errors = Vec::new();
        errors.extend(database_url::url_problem(&self.database_url).map(|error| ("database_url", error)));
        let connections = self.connections_max;
        if !(1..=CONNECTIONS_MAX).contains(&connections) {
            let problem = format!("is {connections}, but must be 1 to {CONNECTIONS_MAX} connections");
            errors.push(("connections_max", problem));
        }
        let timeout_ms = self.statement_timeout_ms;
        if !(1..=TIMEOUT_MS_MAX).contains(&timeout_ms) {
            let problem = format!("is {timeout_ms}, but must be 1 to {TIMEOUT_MS_MAX} ms");
            errors.push(("statement_timeout_ms", problem));
        }
        let of_shards = shards::errors(&self.database_url, &self.shards);
        errors.extend(of_shards.into_iter().map(|error| ("shards", error)));
        errors
    }
}

impl fmt::Debug for ReadModelConfig {
    /// Omits the URL, which may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadModelConfig")
            .field("connections_max", &self.connections_max)
            .field("acquire_timeout_ms", &self.acquire_timeout_ms)
            .field("statement_timeout_ms", &self.statement_timeout_ms)
            .field("shards", &self.shards)
            .finish_non_exhaustive()
    }
}
