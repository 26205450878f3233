//! Making a schema as another one is, from the catalogue: what later migrations do to the one is in the other by itself.

use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::BULK_TABLES;
use crate::error::{ReadModelError, sqlstate_of};
use crate::live::SchemaName;
use crate::queries::bind;

/// What making an index answers when somebody else has just made it.
const IS_THERE: [&str; 4] = ["42P07", "42710", "42P16", "23505"];

/// Which tables' indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tables {
    /// The large ones, which are filled first.
    Bulk,
    /// All others.
    Others,
}

/// Makes `to` as `from` is, but for the indexes of the large tables, inside a transaction of the caller's.
pub(super) async fn clone_structure(
    connection: &mut PgConnection,
    from: SchemaName,
    to: SchemaName,
) -> Result<(), ReadModelError> {
    let query = sqlx::query_with(include_str!("structure.sql"), names(from, to));
    for row in query.fetch_all(&mut *connection).await? {
        run(connection, row.try_get(0)?).await?;
    }
    for index in missing_indexes(connection, from, to, Tables::Others).await? {
        run(connection, index.statement).await?;
    }
    Ok(())
}

/// An index that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MissingIndex {
    pub(super) name: String,
    statement: String,
}

/// The indexes that `to` lacks, in the order in which to make them.
pub(super) async fn missing_indexes(
    connection: &mut PgConnection,
    from: SchemaName,
    to: SchemaName,
    tables: Tables,
) -> Result<Vec<MissingIndex>, ReadModelError> {
    let arguments = bind(names(from, to), BULK_TABLES.as_slice());
    let arguments = bind(arguments, tables == Tables::Bulk);
    let query = sqlx::query_with(include_str!("missing_indexes.sql"), arguments);
    let rows = query.fetch_all(connection).await?;
    let index = |row: &sqlx::postgres::PgRow| {
        Ok(MissingIndex {
            name: row.try_get(0)?,
            statement: row.try_get(1)?,
        })
    };
    rows.iter().map(index).collect()
}

/// Makes an index, unless somebody has just done so: a command that was killed may have left its statement running.
pub(super) async fn make_index(
    connection: &mut PgConnection,
    index: MissingIndex,
) -> Result<(), ReadModelError> {
    // It is made of names in the catalogue, quoted there.
    let made = connection.execute(AssertSqlSafe(index.statement)).await;
    match made {
        Err(error) if sqlstate_of(&error).is_some_and(|code| IS_THERE.contains(&&*code)) => Ok(()),
        made => Ok(made.map(drop)?),
    }
}

async fn run(connection: &mut PgConnection, statement: String) -> Result<(), ReadModelError> {
    // It is made of names in the catalogue, quoted there.
    connection.execute(AssertSqlSafe(statement)).await?;
    Ok(())
}

fn names(from: SchemaName, to: SchemaName) -> PgArguments {
    bind(
        bind(PgArguments::default(), from.to_string()),
        to.to_string(),
    )
}
