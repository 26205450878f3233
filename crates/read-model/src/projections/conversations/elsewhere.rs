//! An erasure reaches the schemas that are kept for a way back: nobody projects into them, and what is erased must not wait
//! there until somebody does.

use sqlx::postgres::PgConnection;
use sqlx::{Executor as _, Row as _};

use super::conversation_rows::ProjectedConversation;
use super::digest;
use super::group::Group;
use super::tombstones::erase;
use super::write_failure::WriteFailure;
use crate::live::{SchemaName, name_of};

const ENTER: &str = "SELECT set_config('search_path', $1, true)";

/// Leaves tombstones in the kept schemas, when the connection's own is the live one.
pub(super) async fn erase_elsewhere(
    connection: &mut PgConnection,
    groups: &[Group<'_>],
    erased: &[ProjectedConversation],
) -> Result<(), WriteFailure> {
    let rows = connection
        .fetch_all(include_str!("kept_schemas.sql"))
        .await
        .map_err(WriteFailure::of)?;
    for row in &rows {
        let (kept, own): (&str, &str) = (
            row.try_get(0).map_err(WriteFailure::of)?,
            row.try_get(1).map_err(WriteFailure::of)?,
        );
        enter(connection, name_of(kept)?)
            .await
            .map_err(WriteFailure::of)?;
        let left = digest::left_by_erased(connection, groups).await?;
        erase(connection, erased).await?;
        let gone = groups.iter().filter(|group| group.is_erased());
        digest::move_on(connection, gone, left).await?;
        enter(connection, name_of(own)?)
            .await
            .map_err(WriteFailure::of)?;
    }
    Ok(())
}

/// Has the rest of the transaction work in another schema.
pub(super) async fn enter(
    connection: &mut PgConnection,
    schema: SchemaName,
) -> Result<(), sqlx::Error> {
    let query = sqlx::query(ENTER).bind(schema.to_string());
    query.execute(connection).await.map(drop)
}
