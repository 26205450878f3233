//! Columns of tables. Each column is listed once, with its type and its value. Statements, `UNNEST` arguments, `COPY` rows
//! and comparisons are generated from the lists. Pure.

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgRow, PgTypeInfo};
use sqlx::{Encode, Postgres, Type};
use uuid::Uuid;

use super::cell::{Cell, column_bytes};
use crate::arguments::bind;
use crate::error::ReadModelError;
use crate::pg_timestamp::PgTimestamp;

/// A column of a table whose rows are computed from values of type `S`.
#[derive(Debug)]
pub(super) struct Column<S> {
    pub(super) name: &'static str,
    sql_type: SqlType,
    /// The column's value.
    pub(super) cell: fn(&S) -> Cell<'_>,
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SqlType {
    Bigint,
    Boolean,
    Bytea,
    Integer,
    Smallint,
    Text,
    Timestamptz,
    Uuid,
}

/// The columns of a statement: concatenated lists.
pub(super) type Columns<'c, S> = [&'c [Column<S>]];

/// A column.
pub(super) const fn column<S>(name: &'static str, sql_type: SqlType, cell: fn(&S) -> Cell<'_>) -> Column<S> {
    Column { name, sql_type, cell }
}

/// The names of the columns, each with `prefix`, separated by commas.
pub(super) fn names<S>(columns: &Columns<'_, S>, prefix: &str) -> String {
    let columns = columns.iter().copied().flatten();
    let names: Vec<String> = columns.map(|column| format!("{prefix}{}", column.name)).collect();
    names.join(", ")
}

/// The parameters that [`bind_columns`] binds: `$1::bigint[], $2::text[]` and so on.
pub(super) fn arrays<S>(columns: &Columns<'_, S>) -> String {
    let columns = columns.iter().copied().flatten();
    let arrays: Vec<String> =
        (1..).zip(columns).map(|(number, column)| format!("${number}::{}[]", column.sql_type.name())).collect();
    arrays.join(", ")
}

/// A statement that inserts the rows of [`bind_columns`].
pub(super) fn insert<S>(table: &str, columns: &Columns<'_, S>) -> String {
    let (names, arrays) = (names(columns, ""), arrays(columns));
    format!("INSERT INTO {table} ({names}) SELECT * FROM unnest({arrays})")
}

/// One array argument per column, with one value per row.
pub(super) fn bind_columns<S>(columns: &Columns<'_, S>, rows: &[S]) -> PgArguments {
    let columns = columns.iter().copied().flatten();
    columns.fold(PgArguments::default(), |arguments, column| bind(arguments, Values { column, rows }))
}

/// Compares a row that was read with `source`. Returns the names of the columns that differ. The columns of the row start at
/// index `first`.
pub(super) fn differing<S>(
    columns: &Columns<'_, S>,
    source: &S,
    row: &PgRow,
    first: usize,
) -> Result<Vec<&'static str>, ReadModelError> {
    let mut differing = Vec::new();
    for (index, column) in (first..).zip(columns.iter().copied().flatten()) {
        if column_bytes(row, index)? != (column.cell)(source).as_bytes() {
            differing.push(column.name);
        }
    }
    Ok(differing)
}

/// The values of one column, as an array.
struct Values<'r, S> {
    column: &'r Column<S>,
    rows: &'r [S],
}

impl<S> Type<Postgres> for Values<'_, S> {
    /// Any array type: [`Encode::produces`] gives the column's own.
    fn type_info() -> PgTypeInfo {
        SqlType::Text.array()
    }
}

impl<S> Encode<'_, Postgres> for Values<'_, S> {
    fn produces(&self) -> Option<PgTypeInfo> {
        Some(self.column.sql_type.array())
    }

    /// The binary form of arrays, as in `array_send` of Postgres.
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let element = self.column.sql_type.element().oid().ok_or("the type of the column has no fixed OID")?;
        let (dimensions, flags, lower_bound) = (1_i32, 0_i32, 1_i32);
        buffer.extend_from_slice(&dimensions.to_be_bytes());
        buffer.extend_from_slice(&flags.to_be_bytes());
        buffer.extend_from_slice(&element.0.to_be_bytes());
        buffer.extend_from_slice(&i32::try_from(self.rows.len())?.to_be_bytes());
        buffer.extend_from_slice(&lower_bound.to_be_bytes());
        for row in self.rows {
            (self.column.cell)(row).put(buffer);
        }
        Ok(IsNull::No)
    }
}

impl SqlType {
    fn name(self) -> &'static str {
        match self {
            Self::Bigint => "bigint",
            Self::Boolean => "boolean",
            Self::Bytea => "bytea",
            Self::Integer => "integer",
            Self::Smallint => "smallint",
            Self::Text => "text",
            Self::Timestamptz => "timestamptz",
            Self::Uuid => "uuid",
        }
    }

    fn element(self) -> PgTypeInfo {
        match self {
            Self::Bigint => <i64 as Type<Postgres>>::type_info(),
            Self::Boolean => <bool as Type<Postgres>>::type_info(),
            Self::Bytea => <[u8] as Type<Postgres>>::type_info(),
            Self::Integer => <i32 as Type<Postgres>>::type_info(),
            Self::Smallint => <i16 as Type<Postgres>>::type_info(),
            Self::Text => <str as Type<Postgres>>::type_info(),
            Self::Timestamptz => <PgTimestamp as Type<Postgres>>::type_info(),
            Self::Uuid => <Uuid as Type<Postgres>>::type_info(),
        }
    }

    fn array(self) -> PgTypeInfo {
        match self {
            Self::Bigint => <[i64] as Type<Postgres>>::type_info(),
            Self::Boolean => <[bool] as Type<Postgres>>::type_info(),
            Self::Bytea => <[&[u8]] as Type<Postgres>>::type_info(),
            Self::Integer => <[i32] as Type<Postgres>>::type_info(),
            Self::Smallint => <[i16] as Type<Postgres>>::type_info(),
            Self::Text => <[&str] as Type<Postgres>>::type_info(),
            Self::Timestamptz => <[PgTimestamp] as Type<Postgres>>::type_info(),
            Self::Uuid => <[Uuid] as Type<Postgres>>::type_info(),
        }
    }
}
