//! Errors of the read models, by what the caller can do.
//!
//! Messages of Postgres are dropped because they can quote values. The SQLSTATE is kept.

use std::io::ErrorKind;

use sqlx::error::DatabaseError;
use thiserror::Error;

use crate::sqlstate::meaning;

/// Delay before a retry, in milliseconds.
pub const RETRY_AFTER_MS: u64 = 250;

/// Why a read or a write failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadModelError {
    /// Postgres is down, busy or not migrated yet: retry.
    #[error("the {} is unavailable: {reason}", database(shard.as_deref()))]
    Unavailable {
        /// The shard; `None`: the first database.
        shard: Option<String>,
        /// The reason, for operators; never a value.
        reason: String,
        /// Delay before a retry, in milliseconds.
        retry_after_ms: u64,
    },
    /// The rows were computed from another record, or from commits that the record has lost. An operator must decide.
    #[error("the rows belong to another record, or to commits that the record has lost: see hansard status")]
    Diverged,
    /// A newer program ran a migration that programs must know: update this one.
    #[error("the database schema has migration {found}, but this program supports up to {known}: update the program")]
    SchemaUnknown {
        /// The last migration of the database.
        found: i64,
        /// The last migration of this program.
        known: i64,
    },
    /// The text of an applied migration differs from this program's: the database or the program is a foreign one.
    #[error("migration {version} of the database differs from this program's: use the program that migrated it")]
    SchemaAltered {
        /// The migration.
        version: i64,
    },
    /// A row cannot be decoded: it is damaged, or a newer program wrote it.
    #[error("{table} row {row} is corrupt: {field} cannot be decoded")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The key of the row.
        row: String,
        /// The column, or a field in it.
        field: String,
    },
    /// The database URL is invalid.
    #[error("the database URL is invalid: give postgres://user@host:5432/database")]
    Misconfigured,
    /// A file that the database URL names cannot be used.
    #[error("the database URL names {path} as {parameter}, which {problem}")]
    File {
        /// The URL parameter.
        parameter: String,
        /// The path of the file.
        path: String,
        /// The problem.
        problem: String,
    },
    /// The login may not create or use the reader role: an administrator must run the statement once.
    #[error("this login may not set up the reader role; a Postgres administrator must run: {statement}")]
    AdministratorNeeded {
        /// The statement to run.
        statement: String,
    },
    /// Postgres rejected a statement; a retry does not help.
    #[error("Postgres rejected a statement with SQLSTATE {sqlstate}{}", meaning(sqlstate))]
    Refused {
        /// The five-character code.
        sqlstate: String,
    },
}

impl ReadModelError {
    /// A [`ReadModelError::Unavailable`] with this reason.
    pub(crate) fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable { shard: None, reason: reason.into(), retry_after_ms: RETRY_AFTER_MS }
    }

    pub(crate) fn corrupt(table: &'static str, row: impl Into<String>, field: impl Into<String>) -> Self {
        Self::Corrupt { table, row: row.into(), field: field.into() }
    }

    /// The same error, of a shard.
    pub(crate) fn of_shard(mut self, name: &str) -> Self {
        if let Self::Unavailable { shard, .. } = &mut self {
            *shard = Some(name.to_owned());
        }
        self
    }

    /// Whether the caller should retry later.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Diverged)
    }
}

/// What is unavailable.
fn database(shard: Option<&str>) -> String {
    shard.map_or_else(|| "read model".to_owned(), |name| format!("shard {name} of the read model"))
}

impl From<sqlx::Error> for ReadModelError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as Sql;
        #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is open")]
        match error {
            Sql::Database(error) => database_error(error.as_ref()),
            // Errors of TLS certificates, which never contain row values.
            Sql::Io(error) if error.kind() == ErrorKind::InvalidData => {
                Self::unavailable(format!("no secure connection: {error}"))
            }
            Sql::Io(error) => Self::unavailable(format!("no connection: {}", error.kind())),
            Sql::Tls(error) => Self::unavailable(format!("no secure connection: {error}")),
            Sql::PoolTimedOut | Sql::PoolClosed | Sql::WorkerCrashed => Self::unavailable("no free connection in time"),
            Sql::Protocol(_) => Self::unavailable("the connection broke"),
            Sql::Configuration(_) => Self::Misconfigured,
            other => Self::corrupt("?", "?", column_of(&other)),
        }
    }
}

/// SQLSTATEs of a session that the server ended: it shut down or crashed, or the session was idle or its transaction too long.
const ENDED: [&str; 6] = ["57P01", "57P02", "57P03", "57P05", "25P03", "25P04"];

/// Classifies an error of the database. Temporary are: ended sessions, connections (08), resources (53), operator actions (57),
/// rollbacks (40), lock timeouts (55P03), a server that is read-only for now (25006), and a schema that does not exist yet (3F000, 42P01).
fn database_error(error: &dyn DatabaseError) -> ReadModelError {
    let sqlstate = error.code().unwrap_or_default().into_owned();
    let temporary = ["08", "53", "57", "40", "55P03", "25006", "3F000", "42P01"];
    if ENDED.contains(&&*sqlstate) || temporary.iter().any(|code| sqlstate.starts_with(code)) {
        let meaning = meaning(&sqlstate);
        return ReadModelError::unavailable(format!("Postgres answered SQLSTATE {sqlstate}{meaning}"));
    }
    ReadModelError::Refused { sqlstate }
}

/// The SQLSTATE; `None`: the error is not from the database.
pub(crate) fn sqlstate_of(error: &sqlx::Error) -> Option<String> {
    let code = error.as_database_error()?.code()?;
    Some(code.into_owned())
}

pub(crate) fn is_lost(error: &sqlx::Error) -> bool {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is open")]
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| ENDED.contains(&&*code)),
        _ => false,
    }
}

/// Whether a replica cancelled a statement, which conflicted with the replay of the log; or a deadlock with it.
pub(crate) fn is_conflict(error: &sqlx::Error) -> bool {
    sqlstate_of(error).is_some_and(|code| code == "40001" || code == "40P01")
}

/// Whether a table or its schema does not exist.
pub(crate) fn is_missing(error: &sqlx::Error) -> bool {
    sqlstate_of(error).is_some_and(|code| code == "42P01" || code == "3F000")
}

/// Whether a statement was cancelled because of its timeout.
pub(crate) fn is_timeout(error: &sqlx::Error) -> bool {
    sqlstate_of(error).is_some_and(|code| code == "57014")
}

fn column_of(error: &sqlx::Error) -> String {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is open")]
    match error {
        sqlx::Error::ColumnDecode { index, .. } => format!("column {index}"),
        _ => "a column".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use devstack::test::database;
    use sqlx::{Connection as _, PgConnection};
    use tokio::time::{Instant, sleep};

    use super::*;

    const ENDED_BY_SERVER: Duration = Duration::from_secs(30);

    /// The error of a statement after the server has ended the session, because of `setting`; `None`: the server lacks it.
    async fn error_after(setting: &str) -> Option<sqlx::Error> {
        // Over TCP the statement is sent, and its answer is the server's reason; over a Unix socket it cannot be sent.
        let url = database().await.url;
        let (url, _socket) = url.split_once('?').unwrap();
        let mut observer = PgConnection::connect(url).await.unwrap();
        let mut idle = PgConnection::connect(url).await.unwrap();
        let known = sqlx::query("SELECT FROM pg_settings WHERE name = $1").bind(setting).fetch_optional(&mut observer);
        known.await.unwrap()?;
        let (process,): (i32,) = sqlx::query_as("SELECT pg_backend_pid()").fetch_one(&mut idle).await.unwrap();
        let set: &'static str = format!("SET {setting} = '50ms'").leak();
        sqlx::raw_sql(set).execute(&mut idle).await.unwrap();
        sqlx::raw_sql("BEGIN").execute(&mut idle).await.unwrap();
        let started = Instant::now();
        loop {
            let query = sqlx::query_as("SELECT count(*) FROM pg_stat_activity WHERE pid = $1").bind(process);
            let (sessions,): (i64,) = query.fetch_one(&mut observer).await.unwrap();
            if sessions == 0 {
                break;
            }
            assert!(started.elapsed() < ENDED_BY_SERVER, "{setting}: the session is not ended");
            sleep(Duration::from_millis(10)).await;
        }
        Some(sqlx::raw_sql("SELECT 1").execute(&mut idle).await.unwrap_err())
    }

    /// A process that was paused longer than its transaction may idle loses its connection; its work can be retried.
    #[tokio::test]
    async fn a_session_that_the_server_ended_is_lost() {
        // The second is known since Postgres 17.
        for (setting, is_in_all) in [("idle_in_transaction_session_timeout", true), ("transaction_timeout", false)] {
            let Some(error) = error_after(setting).await else {
                assert!(!is_in_all, "{setting}");
                continue;
            };
            assert!(sqlstate_of(&error).is_some_and(|code| code.starts_with("25P")), "{setting}: {error}");
            assert!(is_lost(&error), "{setting}: {error}");
            let error = ReadModelError::from(error);
            assert!(error.is_unavailable(), "{setting}: {error}");
        }
    }
}
