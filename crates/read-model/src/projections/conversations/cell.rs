//! A value of a row as Postgres sends it: what rows are compared by, without being understood.

use std::iter;

use sha2::{Digest as _, Sha256};
use sqlx::postgres::PgRow;
use sqlx::{Row as _, ValueRef as _};

use crate::error::ReadModelError;
use crate::moment::Moment;

/// A value in Postgres's binary form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Cell<'r> {
    /// `NULL`.
    #[default]
    Null,
    /// A `smallint`.
    Small([u8; 2]),
    /// An `integer`.
    Middle([u8; 4]),
    /// A `bigint`, or a `timestamptz`.
    Large([u8; 8]),
    /// A `text`, a `bytea` or a `uuid`.
    Bytes(&'r [u8]),
}

impl<'r> Cell<'r> {
    pub(super) fn small(number: i16) -> Self {
        Self::Small(number.to_be_bytes())
    }

    pub(super) fn middle(number: i32) -> Self {
        Self::Middle(number.to_be_bytes())
    }

    pub(super) fn number(number: i64) -> Self {
        Self::Large(number.to_be_bytes())
    }

    pub(super) fn moment(moment: Moment) -> Self {
        Self::number(moment.as_sent())
    }

    pub(super) fn text(text: &'r str) -> Self {
        Self::Bytes(text.as_bytes())
    }

    /// `NULL` for nothing.
    pub(super) fn maybe<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Null, cell)
    }

    /// The bytes as they are sent; `None` for `NULL`.
    pub(super) fn sent(&self) -> Option<&[u8]> {
        match self {
            Self::Null => None,
            Self::Small(bytes) => Some(bytes),
            Self::Middle(bytes) => Some(bytes),
            Self::Large(bytes) => Some(bytes),
            Self::Bytes(bytes) => Some(bytes),
        }
    }
}

/// The value at a place of a row that was read.
pub(super) fn sent(row: &PgRow, index: usize) -> Result<Option<&[u8]>, ReadModelError> {
    let value = row.try_get_raw(index)?;
    if value.is_null() {
        return Ok(None);
    }
    let bytes = value.as_bytes();
    bytes.map(Some).map_err(|_| ReadModelError::Corrupt {
        table: "?",
        row: "?".to_owned(),
        field: format!("column {index}"),
    })
}

/// Adds a value to a digest, so that no two lists of values come to the same bytes.
pub(super) fn digest_cell(digest: &mut Sha256, cell: Option<&[u8]>) {
    match cell {
        None => digest.update([0]),
        Some(bytes) => {
            let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            digest.update([1]);
            digest.update(length.to_be_bytes());
            digest.update(bytes);
        }
    }
}

/// The names of the columns from `first` on in which the row that was read is not as expected.
pub(super) fn differing(
    names: &[&'static str],
    expected: &[Cell<'_>],
    (row, first): (&PgRow, usize),
) -> Result<Vec<&'static str>, ReadModelError> {
    let mut columns = Vec::new();
    for ((index, name), cell) in iter::zip(first.., names).zip(expected) {
        if sent(row, index)? != cell.sent() {
            columns.push(*name);
        }
    }
    Ok(columns)
}
