//! A value of a row as Postgres sends it: what rows are compared by, without being understood.

use std::borrow::Cow;
use std::fmt::Display;

use sha2::{Digest as _, Sha256};
use sqlx::postgres::PgRow;
use sqlx::{ColumnIndex, Row as _, ValueRef as _};

use crate::error::ReadModelError;
use crate::moment::Moment;

/// The length of `NULL`, in arrays and in `COPY`.
const NULL_LENGTH: [u8; 4] = (-1_i32).to_be_bytes();

/// A value in Postgres's binary form.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cell<'r> {
    /// `NULL`.
    Null,
    /// A `boolean`.
    Boolean([u8; 1]),
    /// A `smallint`.
    Small([u8; 2]),
    /// An `integer`.
    Middle([u8; 4]),
    /// A `bigint`, or a `timestamptz`.
    Large([u8; 8]),
    /// A `text`, a `bytea` or a `uuid`.
    Bytes(Cow<'r, [u8]>),
}

impl<'r> Cell<'r> {
    pub(super) fn boolean(value: bool) -> Self {
        Self::Boolean([u8::from(value)])
    }

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

    pub(super) fn bytes(bytes: impl Into<Cow<'r, [u8]>>) -> Self {
        Self::Bytes(bytes.into())
    }

    pub(super) fn text(text: &'r str) -> Self {
        Self::bytes(text.as_bytes())
    }

    /// `NULL` for nothing.
    pub(super) fn maybe<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Null, cell)
    }

    /// The bytes as they are sent; `None` for `NULL`.
    pub(super) fn sent(&self) -> Option<&[u8]> {
        match self {
            Self::Null => None,
            Self::Boolean(bytes) => Some(bytes),
            Self::Small(bytes) => Some(bytes),
            Self::Middle(bytes) => Some(bytes),
            Self::Large(bytes) => Some(bytes),
            Self::Bytes(bytes) => Some(bytes),
        }
    }

    /// Appends the value as arrays and `COPY` have it: its length, then its bytes.
    pub(super) fn put(&self, buffer: &mut Vec<u8>) {
        let sent = self.sent();
        let sized = sent.and_then(|bytes| Some((i32::try_from(bytes.len()).ok()?, bytes)));
        // A value over 2 GiB is the only failure; no commit can hold one.
        let Some((length, bytes)) = sized else {
            buffer.extend_from_slice(&NULL_LENGTH);
            return;
        };
        buffer.extend_from_slice(&length.to_be_bytes());
        buffer.extend_from_slice(bytes);
    }
}

/// The value of a column, by number or name, of a row that was read.
pub(super) fn sent<I>(row: &PgRow, index: I) -> Result<Option<&[u8]>, ReadModelError>
where
    I: ColumnIndex<PgRow> + Display + Copy,
{
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
