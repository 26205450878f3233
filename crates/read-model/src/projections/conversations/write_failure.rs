//! Failures of writes: caused by the content of the commits, or by anything else.

use sqlx::postgres::{PgArguments, PgConnection};

use super::batch::ParkReason;
use crate::error::{ReadModelError, sqlstate_of};

/// Why groups could not be written.
#[derive(Debug)]
pub(super) enum WriteFailure {
    /// It is the fault of what is in them: with others it may work.
    Content(ParkReason),
    /// It is not.
    Other(ReadModelError),
}

impl WriteFailure {
    /// SQLSTATE classes 22 (data), 23 (constraints) and 54 (limits) are about what is written.
    pub(super) fn of(error: sqlx::Error) -> Self {
        let sqlstate = sqlstate_of(&error).unwrap_or_default();
        if ["22", "23", "54"]
            .iter()
            .any(|class| sqlstate.starts_with(class))
        {
            return Self::Content(ParkReason::Refused(sqlstate));
        }
        Self::Other(error.into())
    }
}

impl From<ReadModelError> for WriteFailure {
    fn from(error: ReadModelError) -> Self {
        Self::Other(error)
    }
}

/// Runs one statement; how many rows it touched.
pub(super) async fn run(
    connection: &mut PgConnection,
    sql: &'static str,
    arguments: PgArguments,
) -> Result<u64, WriteFailure> {
    let done = sqlx::query_with(sql, arguments).execute(connection).await;
    done.map(|done| done.rows_affected())
        .map_err(WriteFailure::of)
}
