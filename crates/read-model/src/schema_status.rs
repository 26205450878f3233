//! The migrations of the database compared with this program's, for operators.

use sqlx::Row as _;
use sqlx::postgres::PgArguments;

use crate::error::ReadModelError;
use crate::migrations::{Migrations, READ_MIGRATIONS};
use crate::model::ReadModel;
use crate::schema;

/// The state of the database schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaStatus {
    /// Its migrations.
    pub migrations: Migrations,
    /// The live schema of each projection, by projection.
    pub live: Vec<LiveSchema>,
    /// Whether nobody can write: the server is a standby, or read-only for every login.
    pub is_read_only: bool,
}

/// The live schema of a projection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSchema {
    /// The projection.
    pub projection: String,
    /// Its schema in Postgres.
    pub schema: String,
}

/// Whether nobody can write. A login that is read-only by itself says nothing about others.
const IS_READ_ONLY: &str = "
    SELECT pg_is_in_recovery() OR EXISTS (
        SELECT FROM pg_settings
        WHERE name = 'default_transaction_read_only' AND setting = 'on'
        AND source NOT IN ('user', 'database user', 'client', 'session'))";

/// Reads the state of the database schema.
///
/// # Errors
/// [`ReadModelError::Unavailable`], also before the first migration.
pub async fn schema_status(model: &ReadModel) -> Result<SchemaStatus, ReadModelError> {
    let rows = model.fetch(READ_MIGRATIONS, PgArguments::default).await?;
    let migrations = Migrations::from_rows(&rows, schema::known())?;
    let sql = "SELECT name, live_schema FROM hansard.projection ORDER BY name";
    let rows = model.fetch(sql, PgArguments::default).await?;
    let live = rows.iter().map(|row| Ok(LiveSchema { projection: row.try_get(0)?, schema: row.try_get(1)? }));
    let live = live.collect::<Result<_, ReadModelError>>()?;
    let rows = model.fetch(IS_READ_ONLY, PgArguments::default).await?;
    let is_read_only = rows.first().map_or(Ok(false), |row| row.try_get(0))?;
    Ok(SchemaStatus { migrations, live, is_read_only })
}
