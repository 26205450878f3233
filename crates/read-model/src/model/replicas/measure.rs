//! Reads positions of the write-ahead log.

use std::time::Duration;

use sqlx::Row as _;
use sqlx::postgres::PgArguments;
use tokio::time::timeout;

use super::lag::LogPosition;
use crate::error::ReadModelError;
use crate::model::{Failure, ReadModel};

/// Timeout of a measurement.
const MEASURE_TIMEOUT: Duration = Duration::from_millis(500);

/// A database cluster and a database in it. A replica has those of its primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DatabaseId {
    cluster: i64,
    database: i64,
}

/// What a server answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) id: DatabaseId,
    /// Of the primary: the end of its log, which includes commits that are not flushed yet. Of a replica: the end of what it has
    /// replayed; `None`: it is no replica.
    pub(super) position: Option<LogPosition>,
}

/// Measures the primary.
pub(super) async fn primary(model: &ReadModel) -> Result<Measured, ReadModelError> {
    let (id, bytes) = read(model, include_str!("primary_position.sql")).await?;
    let position = bytes.map(LogPosition::before_next_record);
    Ok(Measured { id, position })
}

/// Measures a replica.
pub(super) async fn replica(model: &ReadModel) -> Result<Measured, ReadModelError> {
    let (id, bytes) = read(model, include_str!("replica_position.sql")).await?;
    let position = bytes.map(LogPosition::after_record);
    Ok(Measured { id, position })
}

/// Reads id and position, without a retry: a lost connection is a result.
async fn read(model: &ReadModel, sql: &'static str) -> Result<(DatabaseId, Option<u64>), ReadModelError> {
    let fetch = model.fetch_once(&model.connections, None, sql, PgArguments::default());
    let rows = match timeout(MEASURE_TIMEOUT, fetch).await {
        Ok(rows) => rows.map_err(Failure::into_error)?,
        Err(_) => return Err(ReadModelError::unavailable("no answer in time")),
    };
    let row = rows.first().ok_or_else(|| ReadModelError::corrupt("pg_control_system", "?", "no row"))?;
    let id = DatabaseId { cluster: row.try_get("cluster")?, database: row.try_get("database")? };
    let bytes: Option<i64> = row.try_get("position")?;
    Ok((id, bytes.map(i64::cast_unsigned)))
}
