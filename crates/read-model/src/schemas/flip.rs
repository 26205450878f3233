//! Moving the pointer: readers and projectors go on in another schema, which holds exactly what the one they leave does.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::error::ReadModelError;
use crate::live::{SchemaName, look};
use crate::model::{Durability, ReadModel};
use crate::projections::conversations::lease::{Checkpoint, checkpoint_of};

const STANDING: &str =
    "SELECT partition, epoch, sequence FROM checkpoint ORDER BY partition FOR UPDATE";
const POINT: &str = "UPDATE hansard.projection SET live_schema = $1 WHERE name = 'conversations'";
const LEAVE: &str = "UPDATE hansard.schema SET left_at = now() WHERE name = $1";
const ENTER: &str = "UPDATE hansard.schema SET phase = 'whole' WHERE name = $1";
/// Projectors take them at once.
const FREE: &str = "UPDATE checkpoint SET lease_until = NULL, holder = NULL";

/// From which schema to which, both seized and at the same place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flip {
    /// The live schema.
    pub from: SchemaName,
    /// The checkpoints in it, under the caller's leases, by partition.
    pub from_held: Vec<Checkpoint>,
    /// The schema that becomes live.
    pub to: SchemaName,
    /// The checkpoints in it, likewise.
    pub to_held: Vec<Checkpoint>,
}

/// What became of a flip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flipped {
    /// The pointer has moved.
    Done,
    /// It has not: somebody took the leases, or the schemas are not at the same place, or another one is live.
    Overtaken,
}

/// Moves the pointer, unless anything has moved since: all in one transaction, with what models were paid for in
/// conversations that are erased, which the record does not tell any more.
///
/// # Errors
/// [`ReadModelError::Unavailable`]: the pointer may have moved when the connection was lost at the very end.
pub async fn flip(model: &ReadModel, flip: &Flip) -> Result<Flipped, ReadModelError> {
    let places = |held: &[Checkpoint]| -> Vec<_> {
        let place = |one: &Checkpoint| (one.lease.partition, one.sequence);
        held.iter().map(place).collect()
    };
    if places(&flip.from_held) != places(&flip.to_held) {
        return Ok(Flipped::Overtaken);
    }
    let work = async |connection: &mut PgConnection| {
        connection
            .execute("SELECT FROM hansard.projection FOR UPDATE")
            .await?;
        let is_held = look(connection).await? == flip.from
            && standing(connection, flip.from).await? == flip.from_held
            && standing(connection, flip.to).await? == flip.to_held;
        if !is_held {
            return Ok::<_, ReadModelError>(Flipped::Overtaken);
        }
        let carry = format!(include_str!("carry_usage.sql"), from = flip.from);
        connection.execute(AssertSqlSafe(carry)).await?;
        connection.execute(FREE).await?;
        for (statement, name) in [(POINT, flip.to), (LEAVE, flip.from), (ENTER, flip.to)] {
            let query = sqlx::query(statement).bind(name.to_string());
            query.execute(&mut *connection).await?;
        }
        Ok(Flipped::Done)
    };
    model.transaction(Durability::Durable, work).await
}

/// The checkpoints of a schema, which stay as they are until the transaction ends; it goes on in that schema.
async fn standing(
    connection: &mut PgConnection,
    schema: SchemaName,
) -> Result<Vec<Checkpoint>, ReadModelError> {
    let enter = format!("SET LOCAL search_path = {schema}");
    connection.execute(AssertSqlSafe(enter)).await?;
    let rows = connection.fetch_all(STANDING).await?;
    rows.iter().map(checkpoint_of).collect()
}
