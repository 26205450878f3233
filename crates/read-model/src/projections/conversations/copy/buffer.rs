//! Rows in the format of `COPY … (FORMAT binary)`: <https://www.postgresql.org/docs/current/sql-copy.html>, "Binary Format".

use sqlx::postgres::{PgConnection, PgCopyIn};

use super::super::column::{Columns, names};
use super::super::write_failure::WriteFailure;

/// The signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// Ends the rows, in place of a number of columns.
const TRAILER: [u8; 2] = (-1_i16).to_be_bytes();
/// The buffer is sent when it has this many bytes.
const PIECE_BYTES: usize = 256 * 1_024;

/// A running `COPY … FROM STDIN (FORMAT binary)`. It buffers about [`PIECE_BYTES`].
pub(super) struct CopyRows<'c, S> {
    copying: PgCopyIn<&'c mut PgConnection>,
    bytes: Vec<u8>,
    columns: &'c Columns<'c, S>,
    columns_count: i16,
}

impl<'c, S> CopyRows<'c, S> {
    pub(super) async fn begin(
        connection: &'c mut PgConnection,
        table: &str,
        columns: &'c Columns<'c, S>,
    ) -> Result<Self, WriteFailure> {
        let names = names(columns, "");
        let statement = format!("COPY {table} ({names}) FROM STDIN (FORMAT binary)");
        let copying = connection.copy_in_raw(&statement).await?;
        let count: usize = columns.iter().map(|list| list.len()).sum();
        Ok(Self { copying, bytes: HEADER.to_vec(), columns, columns_count: i16::try_from(count).unwrap_or(i16::MAX) })
    }

    pub(super) async fn put(&mut self, row: &S) -> Result<(), WriteFailure> {
        self.bytes.extend_from_slice(&self.columns_count.to_be_bytes());
        for column in self.columns.iter().copied().flatten() {
            (column.cell)(row).put(&mut self.bytes);
        }
        if self.bytes.len() < PIECE_BYTES {
            return Ok(());
        }
        self.send().await
    }

    /// Ends after the last row.
    pub(super) async fn finish(mut self) -> Result<(), WriteFailure> {
        self.bytes.extend_from_slice(&TRAILER);
        self.send().await?;
        self.copying.finish().await?;
        Ok(())
    }

    async fn send(&mut self) -> Result<(), WriteFailure> {
        self.copying.send(self.bytes.as_slice()).await?;
        self.bytes.clear();
        Ok(())
    }
}
