//! Giving a commit up.

use domain::{ConversationKey, Sequence};
use sqlx::postgres::PgConnection;

use super::{bind_key, lock_partition};
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};
use crate::queries::{bind, signed};

/// Gives up a waiting commit: the read model will never hold its events. The record still does.
///
/// The conversation stays parked; the next [`super::retry()`] accepts that versions are missing where the commit was. Whether
/// the commit was waiting.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn drop_commit(
    model: &ReadModel,
    key: &ConversationKey,
    sequence: Sequence,
) -> Result<bool, ReadModelError> {
    model
        .transaction(
            Durability::Durable,
            async |connection: &mut PgConnection| {
                lock_partition(connection, key).await?;
                let arguments = bind(bind_key(key), vec![signed(sequence.0)]);
                let query = sqlx::query_with(include_str!("unpark_commits.sql"), arguments);
                let dropped = query.execute(&mut *connection).await?.rows_affected() > 0;
                if dropped {
                    let query = sqlx::query_with(include_str!("accept_gaps.sql"), bind_key(key));
                    query.execute(connection).await?;
                }
                Ok(dropped)
            },
        )
        .await
}
