//! A value of a row in the binary form of Postgres. Rows are written and compared in this form.

use std::borrow::Cow;
use std::fmt::Display;

use domain::Timestamp;
use sha2::{Digest as _, Sha256};
use sqlx::postgres::PgRow;
use sqlx::{ColumnIndex, Row as _, ValueRef as _};

use crate::arguments::signed;
use crate::error::ReadModelError;
use crate::pg_timestamp::PgTimestamp;

/// The length of `NULL`, in arrays and in `COPY`.
const NULL_LENGTH: [u8; 4] = (-1_i32).to_be_bytes();

/// A value in the binary form of Postgres.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cell<'r> {
    /// `NULL`.
    Null,
    /// A `boolean`.
    Boolean([u8; 1]),
    /// A `smallint`.
    Smallint([u8; 2]),
    /// An `integer`.
    Integer([u8; 4]),
    /// A `bigint`, or a `timestamptz`.
    Bigint([u8; 8]),
    /// A `text`, a `bytea` or a `uuid`.
    Bytes(Cow<'r, [u8]>),
}

impl<'r> Cell<'r> {
    pub(super) fn boolean(value: bool) -> Self {
        Self::Boolean([u8::from(value)])
    }

    pub(super) fn smallint(number: i16) -> Self {
        Self::Smallint(number.to_be_bytes())
    }

    pub(super) fn integer(number: i32) -> Self {
        Self::Integer(number.to_be_bytes())
    }

    pub(super) fn bigint(number: u64) -> Self {
        Self::Bigint(signed(number).to_be_bytes())
    }

    pub(super) fn timestamp(time: Timestamp) -> Self {
        Self::Bigint(PgTimestamp::from_time(time).micros().to_be_bytes())
    }

    pub(super) fn bytes(bytes: impl Into<Cow<'r, [u8]>>) -> Self {
        Self::Bytes(bytes.into())
    }

    pub(super) fn text(text: &'r str) -> Self {
        Self::bytes(text.as_bytes())
    }

    /// `NULL` for `None`.
    pub(super) fn optional<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Null, cell)
    }

    /// The bytes on the wire; `None` for `NULL`.
    pub(super) fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Null => None,
            Self::Boolean(bytes) => Some(bytes),
            Self::Smallint(bytes) => Some(bytes),
            Self::Integer(bytes) => Some(bytes),
            Self::Bigint(bytes) => Some(bytes),
            Self::Bytes(bytes) => Some(bytes),
        }
    }

    /// Appends the value in the form of arrays and `COPY`: length, then bytes.
    pub(super) fn put(&self, buffer: &mut Vec<u8>) {
        let bytes = self.as_bytes();
        let sized = bytes.and_then(|bytes| Some((i32::try_from(bytes.len()).ok()?, bytes)));
        // Only a value over 2 GiB fails, and no commit contains one.
        let Some((length, bytes)) = sized else {
            buffer.extend_from_slice(&NULL_LENGTH);
            return;
        };
        buffer.extend_from_slice(&length.to_be_bytes());
        buffer.extend_from_slice(bytes);
    }
}

/// The value of a column, by index or name, of a row that was read.
pub(super) fn column_bytes<I>(row: &PgRow, index: I) -> Result<Option<&[u8]>, ReadModelError>
where
    I: ColumnIndex<PgRow> + Display + Copy,
{
    let value = row.try_get_raw(index)?;
    if value.is_null() {
        return Ok(None);
    }
    let bytes = value.as_bytes();
    bytes.map(Some).map_err(|_| ReadModelError::corrupt("?", "?", format!("column {index}")))
}

/// Adds a value to a digest. Different lists of values never produce the same input.
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
