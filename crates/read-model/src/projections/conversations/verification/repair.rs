//! Rewrites the rows of a conversation from the record.

use domain::{ConversationKey, Partition, Sequence};
use sqlx::Row as _;
use sqlx::postgres::PgConnection;
use thiserror::Error;

use super::super::batch::{Item, ParkReason};
use super::super::conversation_rows::Gaps;
use super::super::group::group_items;
use super::super::write::{WriteMode, write};
use super::super::write_failure::WriteFailure;
use crate::arguments::{arguments, bind_key, execute, unsigned};
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};

/// Why the rows of a conversation were not rewritten. Nothing was changed.
#[derive(Debug, Error)]
pub enum RepairError<E> {
    /// The read model could not be written.
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
    /// The rows cannot be written: the record is incomplete, or Postgres rejects them.
    #[error("its commits cannot be written: {0}")]
    Refused(ParkReason),
    /// The record could not be read.
    #[error("its commits cannot be read")]
    Record(E),
}

/// Replaces the rows of a conversation with those of its commits. The projector of the partition waits until the transaction
/// ends, so the rows match the checkpoint exactly. A parked conversation stays parked. Counts of usage do not change.
///
/// `read` returns some of the conversation's commits after a sequence and up to another, in order, and none at the end. It
/// should return within a second.
///
/// # Errors
/// [`RepairError`].
pub async fn repair<E>(
    model: &ReadModel,
    key: &ConversationKey,
    partition: Partition,
    mut read: impl AsyncFnMut(Sequence, Sequence) -> Result<Vec<Item>, E>,
) -> Result<(), RepairError<E>> {
    let work = async |connection: &mut PgConnection| {
        let through = lock(connection, key, partition).await?;
        remove(connection, key).await?;
        let mut after = Sequence(0);
        loop {
            let items = read(after, through).await.map_err(RepairError::Record)?;
            let Some(last) = items.last() else {
                return Ok(());
            };
            after = last.sequence();
            let group = group_items(key, &items);
            write(connection, &[group], WriteMode::Rows(Gaps::Refused)).await?;
        }
    };
    model.transaction(Durability::Durable, work).await
}

/// Blocks the projector of the partition. Returns the last sequence that the rows of the conversation may contain.
async fn lock(
    connection: &mut PgConnection,
    key: &ConversationKey,
    partition: Partition,
) -> Result<Sequence, ReadModelError> {
    let sql = "SELECT sequence FROM checkpoint WHERE partition = $1 FOR UPDATE";
    let checkpoint = sqlx::query_with(sql, arguments![i32::from(partition.0)])
        .fetch_optional(&mut *connection)
        .await?
        .map_or(Ok(0), |row| row.try_get(0).map(unsigned))?;
    let sql = "SELECT sequence FROM parked_conversation WHERE tenant_id = $1 AND conversation_id = $2";
    let parked = sqlx::query_with(sql, bind_key(key))
        .fetch_optional(connection)
        .await?
        .map(|row| row.try_get(0).map(unsigned))
        .transpose()?;
    let before_parked = parked.map_or(u64::MAX, |at| at.saturating_sub(1));
    Ok(Sequence(checkpoint.min(before_parked)))
}

async fn remove(connection: &mut PgConnection, key: &ConversationKey) -> Result<(), ReadModelError> {
    for sql in [
        "DELETE FROM document WHERE tenant_id = $1 AND conversation_id = $2",
        "DELETE FROM event WHERE tenant_id = $1 AND conversation_id = $2",
        "DELETE FROM conversation WHERE tenant_id = $1 AND conversation_id = $2",
    ] {
        execute(connection, sql, bind_key(key)).await?;
    }
    Ok(())
}

impl<E> From<sqlx::Error> for RepairError<E> {
    fn from(error: sqlx::Error) -> Self {
        Self::ReadModel(error.into())
    }
}

impl<E> From<WriteFailure> for RepairError<E> {
    fn from(failure: WriteFailure) -> Self {
        match failure {
            WriteFailure::Content(reason) => Self::Refused(reason),
            WriteFailure::Other(error) => Self::ReadModel(error),
        }
    }
}
