//! What can go wrong with the read models, by what the caller can do.
//!
//! Nothing of what Postgres says about values is kept: its messages can quote them. Its SQLSTATE is.

use std::io::ErrorKind;

use sqlx::error::DatabaseError;
use thiserror::Error;

/// After how many milliseconds a retry makes sense.
pub const RETRY_AFTER_MS: u64 = 250;

/// Why a read model could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadModelError {
    /// Postgres is away, busy, or not migrated yet: try again.
    #[error("the read model is unavailable: {reason}")]
    Unavailable {
        /// Why, in words for an operator; never a value.
        reason: String,
        /// After how many milliseconds a retry makes sense.
        retry_after_ms: u64,
    },
    /// The schema was made by a later program: this one must be updated.
    #[error(
        "the database's schema has migration {found}, this program knows up to {known}: update the program"
    )]
    SchemaUnknown {
        /// The database's last migration.
        found: i64,
        /// The last migration that this program knows.
        known: i64,
    },
    /// A migration has another text than the one that was applied: this is not our database, or not our program.
    #[error("migration {version} was applied with another text than this program's")]
    SchemaAltered {
        /// The migration.
        version: i64,
    },
    /// A row that cannot be read: damaged, or written by a later program.
    #[error("{table} row {row} is corrupt: {field} cannot be read")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The row's key.
        row: String,
        /// The column, or the field inside it.
        field: String,
    },
    /// The database's URL cannot be used.
    #[error("the database URL cannot be used: write it like postgres://user@host:5432/database")]
    Misconfigured,
    /// A file that the database's URL names cannot be used.
    #[error("the database URL names {path} as {parameter}, which {problem}")]
    File {
        /// What the URL names it as.
        parameter: String,
        /// Where it is.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The login that migrates may not make the role of readers, or not take it on: somebody who may must run the statement
    /// once.
    #[error(
        "this login may not set up the role of readers; an administrator of Postgres must run: {statement}"
    )]
    AdministratorNeeded {
        /// The statement.
        statement: String,
    },
    /// Postgres refused a statement for a reason that no retry mends.
    #[error("Postgres refused a statement with SQLSTATE {sqlstate}")]
    Refused {
        /// The five-character code.
        sqlstate: String,
    },
}

impl ReadModelError {
    /// An [`ReadModelError::Unavailable`] for this reason.
    pub(crate) fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable {
            reason: reason.into(),
            retry_after_ms: RETRY_AFTER_MS,
        }
    }

    /// Whether the caller should try again later.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}

impl From<sqlx::Error> for ReadModelError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as Sql;
        #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is open")]
        match error {
            Sql::Database(error) => refused(error.as_ref()),
            // What TLS says of a certificate; nothing of it comes from a row.
            Sql::Io(error) if error.kind() == ErrorKind::InvalidData => {
                Self::unavailable(format!("no secure connection: {error}"))
            }
            Sql::Io(error) => Self::unavailable(format!("no connection: {}", error.kind())),
            Sql::Tls(error) => Self::unavailable(format!("no secure connection: {error}")),
            Sql::PoolTimedOut | Sql::PoolClosed | Sql::WorkerCrashed => {
                Self::unavailable("no free connection in time")
            }
            Sql::Protocol(_) => Self::unavailable("the connection broke"),
            Sql::Configuration(_) => Self::Misconfigured,
            other => Self::Corrupt {
                table: "?",
                row: "?".to_owned(),
                field: column_of(&other),
            },
        }
    }
}

/// The database's refusals that pass by themselves: connections (08), resources (53), operators (57), broken locks (40),
/// and a schema that is not there yet (3F000, 42P01).
fn refused(error: &dyn DatabaseError) -> ReadModelError {
    let sqlstate = error.code().unwrap_or_default().into_owned();
    let passing = ["08", "53", "57", "40", "55P03", "3F000", "42P01"];
    if passing.iter().any(|code| sqlstate.starts_with(code)) {
        return ReadModelError::unavailable(format!("Postgres answered SQLSTATE {sqlstate}"));
    }
    ReadModelError::Refused { sqlstate }
}

/// The database's code, where the error is the database's.
pub(crate) fn sqlstate_of(error: &sqlx::Error) -> Option<String> {
    let code = error.as_database_error()?.code()?;
    Some(code.into_owned())
}

/// Whether the error tells that the connection is gone.
pub(crate) fn is_lost(error: &sqlx::Error) -> bool {
    /// The server ends, crashed, or dropped the session.
    const ENDED: [&str; 4] = ["57P01", "57P02", "57P03", "57P05"];
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is open")]
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| ENDED.contains(&&*code)),
        _ => false,
    }
}

/// Whether the error tells that a table or its schema is not there.
pub(crate) fn is_missing(error: &sqlx::Error) -> bool {
    sqlstate_of(error).is_some_and(|code| code == "42P01" || code == "3F000")
}

fn column_of(error: &sqlx::Error) -> String {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is open")]
    match error {
        sqlx::Error::ColumnDecode { index, .. } => format!("column {index}"),
        _ => "a column".to_owned(),
    }
}
