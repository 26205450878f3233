//! Clones the structure of a schema from the catalogue of Postgres, so that the clone includes all migrations.

use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::BULK_TABLES;
use crate::arguments::{arguments, bind};
use crate::error::{ReadModelError, sqlstate_of};
use crate::live::SchemaName;

/// SQLSTATEs if another process created the same index.
const EXISTS: [&str; 3] = ["42P07", "42710", "42P16"];
/// SQLSTATE of rows that a unique index rejects: those of the table, or those of the catalogue if another process creates the same index.
pub(super) const NOT_UNIQUE: &str = "23505";
/// Prefix of the tables of the catalogue.
const CATALOGUE: &str = "pg_";

/// The tables whose indexes are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tables {
    /// The large tables, which are filled first.
    Bulk,
    /// All others.
    Others,
}

/// Creates `to` with the structure of `from`, except the indexes of the large tables, in a transaction of the caller. A partitioned
/// table of `from` becomes one table.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MissingIndex {
    pub(super) name: String,
    statement: String,
}

/// The indexes that `to` lacks, in the order of creation.
pub(super) async fn missing_indexes(
    connection: &mut PgConnection,
    from: SchemaName,
    to: SchemaName,
    tables: Tables,
) -> Result<Vec<MissingIndex>, ReadModelError> {
    let arguments = bind(bind(names(from, to), BULK_TABLES.as_slice()), tables == Tables::Bulk);
    let query = sqlx::query_with(include_str!("missing_indexes.sql"), arguments);
    let rows = query.fetch_all(connection).await?;
    let index = |row: &sqlx::postgres::PgRow| Ok(MissingIndex { name: row.try_get(0)?, statement: row.try_get(1)? });
    rows.iter().map(index).collect()
}

/// The result of the creation of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MadeIndex {
    /// It exists now, or another process creates it.
    Exists,
    /// Rows of the table have the same values.
    NotUnique,
}

/// Creates an index, unless it exists: the statement of a killed command may still have been running.
pub(super) async fn make_index(
    connection: &mut PgConnection,
    index: MissingIndex,
) -> Result<MadeIndex, ReadModelError> {
    // The statement contains quoted names from the catalogue.
    let Err(error) = connection.execute(AssertSqlSafe(index.statement)).await else {
        return Ok(MadeIndex::Exists);
    };
    let sqlstate = sqlstate_of(&error).unwrap_or_default();
    let table = error.as_database_error().and_then(|error| error.table()).unwrap_or_default();
    if sqlstate == NOT_UNIQUE && !table.starts_with(CATALOGUE) {
        return Ok(MadeIndex::NotUnique);
    }
    if sqlstate == NOT_UNIQUE || EXISTS.contains(&&*sqlstate) {
        return Ok(MadeIndex::Exists);
    }
    Err(error.into())
}

async fn run(connection: &mut PgConnection, statement: String) -> Result<(), ReadModelError> {
    // The statement contains quoted names from the catalogue.
    connection.execute(AssertSqlSafe(statement)).await?;
    Ok(())
}

fn names(from: SchemaName, to: SchemaName) -> PgArguments {
    arguments![from.to_string(), to.to_string()]
}
