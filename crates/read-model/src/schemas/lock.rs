//! The lock for creating, switching and dropping schemas: one process at a time.

use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::building::SchemaBuild;
use super::list::{Phase, SchemaInfo, SchemaState, list};
use super::structure::clone_structure;
use crate::arguments::{arguments, execute};
use crate::connections::PooledConnection;
use crate::error::ReadModelError;
use crate::live::SchemaName;
use crate::model::{Durability, ReadModel};

/// Minimum time between a switch and the drop of the previous schema. By then no process reads it: the cached live schema
/// expires earlier, and no statement runs that long.
pub const DROP_GRACE: Duration = Duration::from_secs(10);

/// Held by the session, so it ends with the process.
const TAKE: &str = "SELECT pg_try_advisory_lock(hashtext('hansard.schemas'))";
const INSERT: &str = "
    INSERT INTO hansard.schema (made_at, name, projection, phase)
    VALUES (now(), $1, 'conversations', 'copying')";
const DELETE: &str = "
    DELETE FROM hansard.schema AS schema
    USING hansard.projection AS projection
    WHERE schema.name = $1 AND projection.name = schema.projection AND projection.live_schema <> schema.name
      AND (schema.left_at IS NULL OR schema.left_at < now() - $2::bigint * interval '1 millisecond')";

/// The result of dropping a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropOutcome {
    /// It was dropped.
    Dropped,
    /// It is live, does not exist, or was live less than [`DROP_GRACE`] ago.
    Refused,
}

/// The right to create, switch and drop schemas, until it is dropped or the process ends. It is lost with the connection to
/// Postgres; epochs reject later writes.
#[derive(Debug)]
pub struct SchemasLock {
    model: ReadModel,
    _session: PooledConnection,
}

impl SchemasLock {
    /// Takes the lock; `None`: another process holds it.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`].
    pub async fn take(model: &ReadModel) -> Result<Option<Self>, ReadModelError> {
        let mut session = model.acquire_direct().await?;
        let row = session.connection().fetch_one(TAKE).await?;
        let is_taken: bool = row.try_get(0)?;
        Ok(is_taken.then(|| Self { model: model.clone(), _session: session }))
    }

    /// Resumes the unfinished schema, or creates a new, empty one beside the live one.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`], or [`ReadModelError::Refused`] if the login may not create schemas.
    pub async fn begin(&self) -> Result<SchemaBuild, ReadModelError> {
        let live = self.model.live_schema().await?;
        let schemas = list(&self.model).await?;
        let is_unfinished = |schema: &&SchemaInfo| schema.state == SchemaState::Building;
        if let Some(schema) = schemas.iter().find(is_unfinished) {
            return Ok(SchemaBuild::new(&self.model, schema.name, schema.phase, live));
        }
        let last = schemas.iter().map(|schema| schema.name).max();
        let name = last.unwrap_or(live).next();
        let make = async |connection: &mut PgConnection| {
            connection.execute("BEGIN").await?;
            clone_structure(connection, live, name).await?;
            let enter = format!("SET LOCAL search_path = {name}");
            connection.execute(AssertSqlSafe(enter)).await?;
            connection.execute(include_str!("conversation_change.sql")).await?;
            execute(connection, INSERT, arguments![name.to_string()]).await?;
            connection.execute("COMMIT").await?;
            Ok(())
        };
        self.model.without_timeouts(make).await?;
        Ok(SchemaBuild::new(&self.model, name, Phase::Copying, live))
    }

    /// Drops a schema that is not live, with its content.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`]: nothing was changed.
    pub async fn drop_schema(&self, name: SchemaName) -> Result<DropOutcome, ReadModelError> {
        let grace_ms = i64::try_from(DROP_GRACE.as_millis()).unwrap_or(i64::MAX);
        let work = async |connection: &mut PgConnection| {
            // Prevents a concurrent switch.
            connection.execute("SELECT FROM hansard.projection FOR SHARE").await?;
            let arguments = arguments![name.to_string(), grace_ms];
            if execute(connection, DELETE, arguments).await? == 0 {
                return Ok::<_, ReadModelError>(DropOutcome::Refused);
            }
            let drop = format!("DROP SCHEMA {name} CASCADE");
            connection.execute(AssertSqlSafe(drop)).await?;
            Ok(DropOutcome::Dropped)
        };
        self.model.transaction(Durability::Durable, work).await
    }
}
