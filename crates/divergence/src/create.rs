//! Creates a record, but not beside rows of another one.

use std::time::Duration;

use event_log::{Record, RecordConfig, RecordError};
use read_model::projections::conversations::has_rows;
use read_model::{ReadModel, ReadModelError};
use thiserror::Error;
use tokio::time::{Instant, sleep};

/// How long databases that do not answer are asked, and how long another process may take to create the record.
const ROWS_WAIT_MAX: Duration = Duration::from_secs(30);
/// The pause between two attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Why no record was created or opened.
#[derive(Debug, Error)]
pub enum CreateError {
    /// As for [`Record::create`].
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The databases have rows, and NATS has no record.
    #[error(
        "NATS has no record, but {} has rows of one: restore the record with hansard restore, give the URL of its NATS servers, or see hansard bootstrap --beside-rows",
        shard.as_ref().map_or_else(|| "the database".to_owned(), |name| format!("the database of shard {name}"))
    )]
    BesideRows {
        /// The shard; `None`: the first database.
        shard: Option<String>,
    },
    /// NATS has no record, and a database does not answer.
    #[error("NATS has no record, and it is unknown whether the database has rows of one: {0}; start Postgres first")]
    RowsUnknown(#[source] ReadModelError),
}

/// Opens the record; creates it and its missing streams, unless a database has rows of another record.
///
/// # Errors
/// [`CreateError`].
pub async fn create_record(config: RecordConfig, databases: &[ReadModel]) -> Result<Record, CreateError> {
    let until = Instant::now() + ROWS_WAIT_MAX;
    // Another process may create it meanwhile.
    while !Record::exists(&config).await? {
        match with_rows(databases).await {
            Ok(None) => break,
            Ok(Some(database)) => {
                return Err(CreateError::BesideRows { shard: database.shard_name().map(str::to_owned) });
            }
            Err(error) if error.is_unavailable() && Instant::now() < until => sleep(RETRY_PAUSE).await,
            Err(error) => return Err(CreateError::RowsUnknown(error)),
        }
    }
    Ok(Record::create(config).await?)
}

/// A database with rows; `None`: none has any.
async fn with_rows(databases: &[ReadModel]) -> Result<Option<&ReadModel>, ReadModelError> {
    for database in databases {
        if has_rows(database).await? {
            return Ok(Some(database));
        }
    }
    Ok(None)
}
