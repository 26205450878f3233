//! Empties the search, so that projectors index everything again from the record.

use sqlx::Executor as _;
use sqlx::postgres::PgConnection;

use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::projections::search_lock::LOCK_EXCLUSIVE;

/// Deletes all documents, and sets the checkpoints back to the start. Projectors lose their leases.
///
/// # Errors
/// [`ReadModelError::Unavailable`]: nothing was changed.
pub async fn forget(model: &ReadModel) -> Result<(), ReadModelError> {
    let work = async |connection: &mut PgConnection| {
        for statement in [
            "BEGIN",
            LOCK_EXCLUSIVE,
            "TRUNCATE search_v1.document, search_v1.block",
            include_str!("forget.sql"),
            "COMMIT",
        ] {
            connection.execute(statement).await?;
        }
        Ok(())
    };
    model.without_timeouts(work).await
}
