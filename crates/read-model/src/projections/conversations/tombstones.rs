//! Writes the tombstones of erased conversations, also in retained schemas. No projector writes to those, so erased content
//! would otherwise remain in them.

use sqlx::postgres::PgConnection;
use sqlx::{Executor as _, Row as _};

use super::column::bind_columns;
use super::conversation_rows::{ERASE_CONVERSATIONS, ProjectedConversation};
use super::digest;
use super::group::Group;
use super::write_failure::WriteFailure;
use crate::arguments::{arguments, execute};
use crate::live::{SchemaName, parse_schema_name};
use crate::projections::search_lock::LOCK_EXCLUSIVE;

const USE_SCHEMA: &str = "SELECT set_config('search_path', $1, true)";

/// Replaces all rows of erased conversations with tombstones, in the schema of the connection.
pub(super) async fn erase(connection: &mut PgConnection, erased: &[ProjectedConversation]) -> Result<(), WriteFailure> {
    let keys = || bind_columns(ProjectedConversation::KEYS, erased);
    execute(connection, include_str!("erase_events.sql"), keys()).await?;
    execute(connection, include_str!("erase_stored_documents.sql"), keys()).await?;
    execute(connection, include_str!("erase_parked.sql"), keys()).await?;
    let tombstones = bind_columns(ProjectedConversation::TOMBSTONE, erased);
    execute(connection, ERASE_CONVERSATIONS.as_str(), tombstones).await?;
    Ok(())
}

/// Deletes the documents of erased conversations from the search. Concurrent writes of documents wait, and then see the tombstones.
pub(super) async fn erase_documents(
    connection: &mut PgConnection,
    erased: &[ProjectedConversation],
) -> Result<(), WriteFailure> {
    connection.execute(LOCK_EXCLUSIVE).await?;
    let keys = bind_columns(ProjectedConversation::KEYS, erased);
    execute(connection, include_str!("erase_documents.sql"), keys).await?;
    Ok(())
}

/// Writes the tombstones to the retained schemas, if the connection uses the live schema.
pub(super) async fn erase_in_retained(
    connection: &mut PgConnection,
    groups: &[Group<'_>],
    erased: &[ProjectedConversation],
) -> Result<(), WriteFailure> {
    let rows = connection.fetch_all(include_str!("retained_schemas.sql")).await?;
    for row in &rows {
        let (retained, own): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        use_schema(connection, parse_schema_name(retained)?).await?;
        let before = digest::digests_of_erased(connection, groups).await?;
        erase(connection, erased).await?;
        let erased_groups = groups.iter().filter(|group| group.is_erased());
        digest::advance(connection, erased_groups, before).await?;
        use_schema(connection, parse_schema_name(own)?).await?;
    }
    Ok(())
}

/// Makes the rest of the transaction use another schema.
pub(super) async fn use_schema(connection: &mut PgConnection, schema: SchemaName) -> Result<(), sqlx::Error> {
    let arguments = arguments![schema.to_string()];
    execute(connection, USE_SCHEMA, arguments).await.map(drop)
}
