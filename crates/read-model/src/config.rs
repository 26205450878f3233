//! How the read models are reached.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::certificates;
use crate::error::ReadModelError;

/// Most connections of one process.
pub const CONNECTIONS_MAX: u32 = 1_000;
/// Longest that a wait or a statement may be configured to take, in milliseconds.
pub const TIMEOUT_MS_MAX: u64 = 60_000;

/// Where the database is, and how long it may take.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadModelConfig {
    /// The URL: `postgres://user@host:port/database`; `?host=/folder` goes over a Unix socket, which is faster. Over TCP,
    /// `?sslmode=verify-full&sslrootcert=FILE` demands TLS and a certificate of a CA of that file, for that host; without a
    /// file, of the system's. By itself, TLS is spoken where the server offers it, and nothing is verified.
    pub database_url: String,
    /// Most connections at once.
    pub connections_max: u32,
    /// The longest wait for a connection, in milliseconds.
    pub acquire_timeout_ms: u64,
    /// The longest run of one statement, in milliseconds.
    pub statement_timeout_ms: u64,
}

impl ReadModelConfig {
    /// Ten connections, 2 s to get one, 5 s for a statement.
    #[must_use]
    pub fn new(database_url: impl Into<String>) -> Self {
        Self {
            database_url: database_url.into(),
            connections_max: 10,
            acquire_timeout_ms: 2_000,
            statement_timeout_ms: 5_000,
        }
    }
}

impl Default for ReadModelConfig {
    fn default() -> Self {
        Self::new("postgres://hansard@127.0.0.1:5432/hansard")
    }
}

impl ReadModelConfig {
    /// What is wrong with the settings: the key, and the rule with its mend.
    #[must_use]
    pub fn mistakes(&self) -> Vec<(&'static str, String)> {
        let mut mistakes = Vec::new();
        if self.database_url.is_empty() {
            let mend = "is empty: give postgres://user@host:port/database".to_owned();
            mistakes.push(("database_url", mend));
        }
        if let Err(ReadModelError::File {
            parameter,
            path,
            problem,
        }) = certificates::check(&self.database_url)
        {
            let mistake = format!("names {path} as {parameter}, which {problem}");
            mistakes.push(("database_url", mistake));
        }
        if !(1..=CONNECTIONS_MAX).contains(&self.connections_max) {
            let bound = format!(
                "is {}, but must be 1 to {CONNECTIONS_MAX} connections",
                self.connections_max
            );
            mistakes.push(("connections_max", bound));
        }
        let timeouts = [
            ("acquire_timeout_ms", self.acquire_timeout_ms),
            ("statement_timeout_ms", self.statement_timeout_ms),
        ];
        for (key, value) in timeouts {
            if !(1..=TIMEOUT_MS_MAX).contains(&value) {
                mistakes.push((
                    key,
                    format!("is {value}, but must be 1 to {TIMEOUT_MS_MAX} ms"),
                ));
            }
        }
        mistakes
    }
}

impl fmt::Debug for ReadModelConfig {
    /// Without the URL, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadModelConfig")
            .field("connections_max", &self.connections_max)
            .field("acquire_timeout_ms", &self.acquire_timeout_ms)
            .field("statement_timeout_ms", &self.statement_timeout_ms)
            .finish_non_exhaustive()
    }
}
