//! Switches the live schema: moves the pointer to another schema with the same checkpoints.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::arguments::{arguments, execute};
use crate::error::ReadModelError;
use crate::live::{SchemaName, read_live_schema};
use crate::model::{Durability, ReadModel};
use crate::projections::conversations::lease::{Checkpoint, checkpoint_of};

const LOCK_CHECKPOINTS: &str = "SELECT partition, epoch, sequence FROM checkpoint ORDER BY partition FOR UPDATE";
const POINT: &str = "UPDATE hansard.projection SET live_schema = $1 WHERE name = 'conversations'";
const LEAVE: &str = "UPDATE hansard.schema SET left_at = now() WHERE name = $1";
const ENTER: &str = "UPDATE hansard.schema SET phase = 'whole' WHERE name = $1";
/// Releases the leases, so that projectors take them at once.
const FREE: &str = "UPDATE checkpoint SET lease_until = NULL, holder = NULL";

/// What becomes of the rows of the schema that is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveRows {
    /// Both schemas contain the same prefix of the record.
    Equal,
    /// They are given up: they are of another record, or of commits that the record has lost.
    GivenUp,
}

/// The two schemas of a switch. The caller holds all leases of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flip {
    /// The live schema.
    pub from: SchemaName,
    /// Its checkpoints under the leases of the caller, by partition.
    pub from_held: Vec<Checkpoint>,
    /// The schema that becomes live.
    pub to: SchemaName,
    /// Its checkpoints under the leases of the caller, by partition.
    pub to_held: Vec<Checkpoint>,
    /// What becomes of the rows of `from`.
    pub live_rows: LiveRows,
}

/// The result of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlipOutcome {
    /// The pointer was moved.
    Done,
    /// It was not: another process took leases, the checkpoints differ, or another schema is live.
    Conflict,
}

/// Moves the pointer if leases and checkpoints are unchanged. The same transaction copies the usage of erased conversations,
/// which the record no longer contains, unless the rows are given up.
///
/// # Errors
/// [`ReadModelError::Unavailable`]: the pointer may have moved if the connection was lost during the commit.
pub async fn flip(model: &ReadModel, flip: &Flip) -> Result<FlipOutcome, ReadModelError> {
    let sequences = |held: &[Checkpoint]| -> Vec<_> {
        let sequence = |one: &Checkpoint| (one.lease.partition, one.sequence);
        held.iter().map(sequence).collect()
    };
    if flip.live_rows == LiveRows::Equal && sequences(&flip.from_held) != sequences(&flip.to_held) {
        return Ok(FlipOutcome::Conflict);
    }
    let work = async |connection: &mut PgConnection| {
        connection.execute("SELECT FROM hansard.projection FOR UPDATE").await?;
        let is_held = read_live_schema(connection).await? == flip.from
            && lock_checkpoints(connection, flip.from).await? == flip.from_held
            && lock_checkpoints(connection, flip.to).await? == flip.to_held;
        if !is_held {
            return Ok::<_, ReadModelError>(FlipOutcome::Conflict);
        }
        if flip.live_rows == LiveRows::Equal {
            for copy in [
                format!(include_str!("copy_usage.sql"), from = flip.from),
                format!(include_str!("copy_run_ends.sql"), from = flip.from),
            ] {
                connection.execute(AssertSqlSafe(copy)).await?;
            }
        }
        connection.execute(FREE).await?;
        for (statement, name) in [(POINT, flip.to), (LEAVE, flip.from), (ENTER, flip.to)] {
            execute(connection, statement, arguments![name.to_string()]).await?;
        }
        Ok(FlipOutcome::Done)
    };
    model.transaction(Durability::Durable, work).await
}

/// Locks and returns the checkpoints of a schema. The rest of the transaction uses that schema.
async fn lock_checkpoints(
    connection: &mut PgConnection,
    schema: SchemaName,
) -> Result<Vec<Checkpoint>, ReadModelError> {
    let enter = format!("SET LOCAL search_path = {schema}");
    connection.execute(AssertSqlSafe(enter)).await?;
    let rows = connection.fetch_all(LOCK_CHECKPOINTS).await?;
    rows.iter().map(checkpoint_of).collect()
}
