//! Rows as `COPY … (FORMAT binary)` takes them: <https://www.postgresql.org/docs/current/sql-copy.html>, "Binary Format".

use sqlx::encode::IsNull;
use sqlx::postgres::{PgArgumentBuffer, PgConnection};
use sqlx::{Encode, Postgres};

use super::super::write::WriteFailure;

/// The signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// Instead of a row's number of columns.
const TRAILER: [u8; 2] = (-1_i16).to_be_bytes();
/// Instead of a value's length.
const NULL: [u8; 4] = (-1_i32).to_be_bytes();
/// Bytes that are handed to the connection at a time.
const PIECE_BYTES: usize = 256 * 1_024;

/// Rows of one table.
#[derive(Debug)]
pub(super) struct CopyBuffer {
    bytes: PgArgumentBuffer,
    columns: i16,
}

impl CopyBuffer {
    /// No rows yet, each to be of so many columns.
    pub(super) fn new(columns: i16) -> Self {
        let mut bytes = PgArgumentBuffer::default();
        bytes.extend_from_slice(HEADER);
        Self { bytes, columns }
    }

    /// Begins a row: all of its columns follow.
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

    /// Runs a `COPY … FROM STDIN (FORMAT binary)` of these rows.
    pub(super) async fn send(
        mut self,
        connection: &mut PgConnection,
        statement: &'static str,
    ) -> Result<(), WriteFailure> {
        self.bytes.extend_from_slice(&TRAILER);
        let copy = async {
            let mut copying = connection.copy_in_raw(statement).await?;
            for piece in self.bytes.chunks(PIECE_BYTES) {
                copying.send(piece).await?;
            }
            copying.finish().await
        };
        copy.await.map(drop).map_err(WriteFailure::of)
    }
}
