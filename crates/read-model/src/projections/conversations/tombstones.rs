//! Writes the tombstones of erased conversations.

use sqlx::postgres::PgConnection;

use super::column::bind_columns;
use super::conversation_rows::{ERASE_CONVERSATIONS, ProjectedConversation};
use super::write_failure::{WriteFailure, run};

/// Replaces all rows of erased conversations with tombstones, in the schema of the connection.
pub(super) async fn erase(
    connection: &mut PgConnection,
    erased: &[ProjectedConversation],
) -> Result<(), WriteFailure> {
    let keys = || bind_columns(ProjectedConversation::KEYS, erased);
    run(connection, include_str!("erase_events.sql"), keys()).await?;
    run(connection, include_str!("erase_parked.sql"), keys()).await?;
    let tombstones = bind_columns(ProjectedConversation::TOMBSTONE, erased);
    run(connection, &ERASE_CONVERSATIONS, tombstones).await?;
    Ok(())
}
