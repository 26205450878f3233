//! Drops a waiting commit.

use domain::{ConversationKey, Sequence};
use sqlx::postgres::PgConnection;

use super::lock_partition;
use crate::arguments::{bind, bind_key, execute, signed};
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};

/// Drops a waiting commit: the rows will never contain its events; the record still does. Returns whether the commit was
/// waiting.
///
/// The conversation stays parked. The next [`super::retry()`] accepts the missing versions.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn drop_commit(model: &ReadModel, key: &ConversationKey, sequence: Sequence) -> Result<bool, ReadModelError> {
    let work = async |connection: &mut PgConnection| {
        lock_partition(connection, key).await?;
        let arguments = bind(bind_key(key), vec![signed(sequence.0)]);
        let sql = include_str!("unpark_commits.sql");
        let is_dropped = execute(connection, sql, arguments).await? > 0;
        if is_dropped {
            execute(connection, include_str!("accept_gaps.sql"), bind_key(key)).await?;
        }
        Ok(is_dropped)
    };
    model.transaction(Durability::Durable, work).await
}
