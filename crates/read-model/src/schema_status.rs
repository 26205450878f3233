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
}

/// The live schema of a projection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSchema {
    /// The projection.
    pub projection: String,
    /// Its schema in Postgres.
    pub schema: String,
}

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
    Ok(SchemaStatus { migrations, live: live.collect::<Result<_, ReadModelError>>()? })
}
