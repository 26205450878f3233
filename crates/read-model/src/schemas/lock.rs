//! Leave to change which schemas there are: one process at a time.

use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::building::Building;
use super::list::{Phase, SchemaState, list};
use super::structure::clone_structure;
use crate::connections::Lent;
use crate::error::ReadModelError;
use crate::live::SchemaName;
use crate::model::{Durability, ReadModel};

/// How long a schema must have been left before it is dropped: by then nobody reads in it any more, since every process
/// looks for the live one more often, and no statement takes as long.
pub const DROP_GRACE: Duration = Duration::from_secs(10);

/// Held by the session: it ends with the process, however that ends.
const TAKE: &str = "SELECT pg_try_advisory_lock(hashtext('hansard.schemas'))";
const INSERT: &str = "
    INSERT INTO hansard.schema (made_at, name, projection, phase)
    VALUES (now(), $1, 'conversations', 'copying')";
const FORGET: &str = "
    DELETE FROM hansard.schema AS schema
    USING hansard.projection AS projection
    WHERE schema.name = $1 AND projection.name = schema.projection AND projection.live_schema <> schema.name
      AND (schema.left_at IS NULL OR schema.left_at < now() - $2::bigint * interval '1 millisecond')";

/// What became of a schema that was to be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// It is gone.
    Gone,
    /// It is live, not there, or was left less than [`DROP_GRACE`] ago.
    Refused,
}

/// The right to make, switch and drop schemas, until it is dropped or the process ends. It is lost with the connection to
/// Postgres: what is written afterwards is refused by its epochs.
#[derive(Debug)]
pub struct SchemasLock {
    model: ReadModel,
    _session: Lent,
}

impl SchemasLock {
    /// Takes the right; `None`: another process has it.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`].
    pub async fn take(model: &ReadModel) -> Result<Option<Self>, ReadModelError> {
        let mut session = model.lend().await?;
        let row = session.connection().fetch_one(TAKE).await?;
        let is_taken: bool = row.try_get(0)?;
        Ok(is_taken.then(|| Self {
            model: model.clone(),
            _session: session,
        }))
    }

    /// The schema whose making was begun and not finished, else a new one, empty, beside the live one.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`], or [`ReadModelError::Refused`] when the login may not make schemas.
    pub async fn begin(&self) -> Result<Building, ReadModelError> {
        let live = self.model.live_schema().await?;
        let schemas = list(&self.model).await?;
        let unfinished = schemas
            .iter()
            .find(|schema| schema.state == SchemaState::Building);
        if let Some(schema) = unfinished {
            return Ok(Building::new(&self.model, schema.name, schema.phase, live));
        }
        let last = schemas.iter().map(|schema| schema.name).max();
        let name = last.unwrap_or(live).next();
        let make = async |connection: &mut PgConnection| {
            clone_structure(connection, live, name).await?;
            let enter = format!("SET LOCAL search_path = {name}");
            connection.execute(AssertSqlSafe(enter)).await?;
            connection
                .execute(include_str!("conversation_change.sql"))
                .await?;
            let row = sqlx::query(INSERT).bind(name.to_string());
            row.execute(connection).await?;
            Ok::<_, ReadModelError>(())
        };
        self.model.transaction(Durability::Durable, make).await?;
        Ok(Building::new(&self.model, name, Phase::Copying, live))
    }

    /// Drops a schema that is not live, with all that is in it.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`]: nothing has changed then.
    pub async fn drop_schema(&self, name: SchemaName) -> Result<Dropped, ReadModelError> {
        let grace_ms = i64::try_from(DROP_GRACE.as_millis()).unwrap_or(i64::MAX);
        let forget = async |connection: &mut PgConnection| {
            // The pointer may not move meanwhile.
            connection
                .execute("SELECT FROM hansard.projection FOR SHARE")
                .await?;
            let query = sqlx::query(FORGET).bind(name.to_string()).bind(grace_ms);
            let forgotten = query.execute(&mut *connection).await?.rows_affected();
            if forgotten == 0 {
                return Ok::<_, ReadModelError>(Dropped::Refused);
            }
            let drop = format!("DROP SCHEMA {name} CASCADE");
            connection.execute(AssertSqlSafe(drop)).await?;
            Ok(Dropped::Gone)
        };
        self.model.transaction(Durability::Durable, forget).await
    }
}
