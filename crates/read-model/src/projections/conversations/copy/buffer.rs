//! Rows as `COPY … (FORMAT binary)` takes them: <https://www.postgresql.org/docs/current/sql-copy.html>, "Binary Format".

use sqlx::encode::IsNull;
use sqlx::postgres::{PgArgumentBuffer, PgConnection, PgCopyIn};
use sqlx::{Encode, Postgres};

use super::super::write::WriteFailure;

/// The signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// Instead of a row's number of columns.
const TRAILER: [u8; 2] = (-1_i16).to_be_bytes();
/// Instead of a value's length.
const NULL: [u8; 4] = (-1_i32).to_be_bytes();
/// Bytes from which on rows are handed to the connection.
const PIECE_BYTES: usize = 256 * 1_024;

/// A `COPY … FROM STDIN (FORMAT binary)` under way. It holds no more rows than make a piece.
pub(super) struct CopyRows<'c> {
    copying: PgCopyIn<&'c mut PgConnection>,
    bytes: PgArgumentBuffer,
    columns: i16,
}

impl<'c> CopyRows<'c> {
    /// Begins with no rows, each to be of so many columns.
    pub(super) async fn begin(
        connection: &'c mut PgConnection,
        statement: &str,
        columns: i16,
    ) -> Result<Self, WriteFailure> {
        let copying = connection.copy_in_raw(statement).await;
        let mut bytes = PgArgumentBuffer::default();
        bytes.extend_from_slice(HEADER);
        Ok(Self {
            copying: copying.map_err(WriteFailure::of)?,
            bytes,
            columns,
        })
    }

    /// Begins a row: all of its columns follow, then [`Self::end_row`].
    pub(super) fn begin_row(&mut self) {
        self.bytes.extend_from_slice(&self.columns.to_be_bytes());
    }

    /// The row's next column.
    pub(super) fn put<'q, T: Encode<'q, Postgres>>(&mut self, value: T) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&NULL);
        let encoded = value.encode(&mut self.bytes);
        let length = i32::try_from(self.bytes.len() - begin - NULL.len());
        // A value over 2 GiB is the only failure; Postgres then refuses the row.
        if let (Ok(IsNull::No), Ok(length)) = (encoded, length)
            && let Some(slot) = self.bytes.get_mut(begin..begin + NULL.len())
        {
            slot.copy_from_slice(&length.to_be_bytes());
        }
    }

    /// Ends a row.
    pub(super) async fn end_row(&mut self) -> Result<(), WriteFailure> {
        if self.bytes.len() < PIECE_BYTES {
            return Ok(());
        }
        self.send().await
    }

    /// Ends after the last row.
    pub(super) async fn finish(mut self) -> Result<(), WriteFailure> {
        self.bytes.extend_from_slice(&TRAILER);
        self.send().await?;
        let finished = self.copying.finish().await;
        finished.map(drop).map_err(WriteFailure::of)
    }

    async fn send(&mut self) -> Result<(), WriteFailure> {
        let sent = self.copying.send(self.bytes.as_slice()).await;
        sent.map_err(WriteFailure::of)?;
        self.bytes.clear();
        Ok(())
    }
}
