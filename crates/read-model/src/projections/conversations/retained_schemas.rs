//! Erasures in retained schemas. No projector writes to those, so erased content would otherwise remain in them.

use sqlx::postgres::PgConnection;
use sqlx::{Executor as _, Row as _};

use super::conversation_rows::ProjectedConversation;
use super::digest;
use super::group::Group;
use super::tombstones::erase;
use super::write_failure::WriteFailure;
use crate::live::{SchemaName, parse_schema_name};

const USE_SCHEMA: &str = "SELECT set_config('search_path', $1, true)";

/// Writes the tombstones to the retained schemas, if the connection uses the live schema.
pub(super) async fn erase_in_retained(
    connection: &mut PgConnection,
    groups: &[Group<'_>],
    erased: &[ProjectedConversation],
) -> Result<(), WriteFailure> {
    let rows = connection
        .fetch_all(include_str!("retained_schemas.sql"))
        .await?;
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
pub(super) async fn use_schema(
    connection: &mut PgConnection,
    schema: SchemaName,
) -> Result<(), sqlx::Error> {
    let query = sqlx::query(USE_SCHEMA).bind(schema.to_string());
    query.execute(connection).await.map(drop)
}
