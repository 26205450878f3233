//! The key of a tenant's search terms in its row.

use search::{TERM_KEY_BYTES, TermKey};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::error::ReadModelError;

/// The key in a column.
pub(crate) fn key_of(row: &PgRow, index: usize) -> Result<TermKey, ReadModelError> {
    let stored: &[u8] = row.try_get(index)?;
    let bytes: Option<&[u8; TERM_KEY_BYTES]> = stored.first_chunk();
    let corrupt = || ReadModelError::corrupt("tenant", "?", "term_key");
    bytes.map(TermKey::new).ok_or_else(corrupt)
}
