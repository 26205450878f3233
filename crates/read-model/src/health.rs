//! The health check of a process that writes.

use sqlx::Row as _;
use sqlx::postgres::PgArguments;

use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Whether transactions of this login may write: not on a standby, and not while `default_transaction_read_only` is set.
const IS_READ_ONLY: &str = "SELECT current_setting('transaction_read_only')::boolean";

impl ReadModel {
    /// As [`ReadModel::check`], and this login may write.
    ///
    /// # Errors
    /// Those of [`ReadModel::check`]; [`ReadModelError::Unavailable`] if Postgres is read-only.
    pub async fn check_writable(&self) -> Result<(), ReadModelError> {
        self.check().await?;
        let rows = self.fetch(IS_READ_ONLY, PgArguments::default).await?;
        let is_read_only: bool = rows.first().map_or(Ok(false), |row| row.try_get(0))?;
        if is_read_only {
            return Err(ReadModelError::unavailable(
                "Postgres is read-only: give the URL of the primary, or reset default_transaction_read_only",
            ));
        }
        Ok(())
    }
}
