//! Which schema the database has, against the one that this program knows: for operators.

use sqlx::Row as _;
use sqlx::postgres::PgArguments;

use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::schema;

/// How the schema stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaStanding {
    /// The database's last migration.
    pub found: i64,
    /// The last migration that this program knows.
    pub known: i64,
    /// The schema that readers of each projection use, by projection.
    pub live: Vec<LiveSchema>,
}

/// The schema that readers of a projection use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSchema {
    /// The projection.
    pub projection: String,
    /// Its schema in Postgres.
    pub schema: String,
}

/// How the schema stands now.
///
/// # Errors
/// [`ReadModelError::Unavailable`], also when there is no schema yet.
pub async fn schema_standing(model: &ReadModel) -> Result<SchemaStanding, ReadModelError> {
    let rows = model.fetch(schema::LAST_MIGRATION, PgArguments::default);
    let found = rows.await?.first().map_or(Ok(0), |row| row.try_get(0))?;
    let sql = "SELECT name, live_schema FROM hansard.projection ORDER BY name";
    let rows = model.fetch(sql, PgArguments::default).await?;
    let live = rows.iter().map(|row| {
        Ok(LiveSchema {
            projection: row.try_get(0)?,
            schema: row.try_get(1)?,
        })
    });
    Ok(SchemaStanding {
        found,
        known: schema::known(),
        live: live.collect::<Result<_, ReadModelError>>()?,
    })
}
