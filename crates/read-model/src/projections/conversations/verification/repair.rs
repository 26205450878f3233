//! Writing a conversation's rows anew, from the record.

use domain::{ConversationKey, Partition, Sequence};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgConnection};
use thiserror::Error;

use super::super::batch::{Item, ParkReason};
use super::super::conversation_rows::Gaps;
use super::super::group::group_of;
use super::super::write::{Means, write};
use super::super::write_failure::WriteFailure;
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};
use crate::queries::bind;

/// Why a conversation's rows were not written anew. Nothing has changed then.
#[derive(Debug, Error)]
pub enum RepairError<E> {
    /// The read model could not be written.
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
    /// The rows that the commits come to cannot be written: the record is not whole, or Postgres refuses them.
    #[error("its commits cannot be written: {0}")]
    Refused(ParkReason),
    /// The record could not be read.
    #[error("its commits cannot be read")]
    Record(E),
}

/// Replaces a conversation's rows by what its commits come to, in one transaction that keeps the partition's projector
/// waiting: so the rows are those of the checkpoint, neither behind it nor ahead. A parked conversation stays parked.
///
/// `read` is asked for the conversation's commits after a sequence and up to another, in order, some at a time, until it
/// has none; it should answer within the second. What usage was counted stays counted.
///
/// # Errors
/// [`RepairError`].
pub async fn repair<E>(
    model: &ReadModel,
    key: &ConversationKey,
    partition: Partition,
    mut read: impl AsyncFnMut(Sequence, Sequence) -> Result<Vec<Item>, E>,
) -> Result<(), RepairError<E>> {
    model
        .transaction(
            Durability::Durable,
            async |connection: &mut PgConnection| {
                let through = lock(connection, key, partition).await?;
                remove(connection, key).await?;
                let mut after = Sequence(0);
                loop {
                    let items = read(after, through).await.map_err(RepairError::Record)?;
                    let Some(last) = items.last() else {
                        return Ok(());
                    };
                    after = last.sequence();
                    let group = group_of(key, &items);
                    write(connection, &[group], Means::Rows(Gaps::Refused)).await?;
                }
            },
        )
        .await
}

/// Keeps the projector of the partition waiting; the last sequence that the conversation's rows may hold.
async fn lock(
    connection: &mut PgConnection,
    key: &ConversationKey,
    partition: Partition,
) -> Result<Sequence, ReadModelError> {
    let arguments = bind(PgArguments::default(), i32::from(partition.0));
    let sql = "SELECT sequence FROM checkpoint WHERE partition = $1 FOR UPDATE";
    let checkpoint = sqlx::query_with(sql, arguments)
        .fetch_optional(&mut *connection)
        .await?;
    let number = |number: i64| u64::try_from(number).unwrap_or(0);
    let checkpoint = checkpoint.map_or(Ok(0), |row| row.try_get(0).map(number))?;
    let sql =
        "SELECT sequence FROM parked_conversation WHERE tenant_id = $1 AND conversation_id = $2";
    let parked = sqlx::query_with(sql, bind_key(key))
        .fetch_optional(connection)
        .await?;
    let parked = parked.map(|row| row.try_get(0).map(number)).transpose()?;
    let before_parked = parked.map_or(u64::MAX, |at| at.saturating_sub(1));
    Ok(Sequence(checkpoint.min(before_parked)))
}

async fn remove(
    connection: &mut PgConnection,
    key: &ConversationKey,
) -> Result<(), ReadModelError> {
    for sql in [
        "DELETE FROM event WHERE tenant_id = $1 AND conversation_id = $2",
        "DELETE FROM conversation WHERE tenant_id = $1 AND conversation_id = $2",
    ] {
        sqlx::query_with(sql, bind_key(key))
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

fn bind_key(key: &ConversationKey) -> PgArguments {
    let arguments = bind(PgArguments::default(), key.tenant.as_str());
    bind(arguments, key.conversation.as_str())
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
