//! The lease and the checkpoint of the provider log.

use domain::Sequence;
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use crate::arguments::{arguments, signed, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::projections::Holder;

/// Takes or renews the lease for `ttl_ms`. Returns the checkpoint; `None`: another projector holds the lease.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn take(model: &ReadModel, holder: &Holder, ttl_ms: u64) -> Result<Option<Sequence>, ReadModelError> {
    let arguments = || arguments![holder.0.as_str(), signed(ttl_ms)];
    let rows = model.fetch(include_str!("take.sql"), arguments).await?;
    sequence_of(&rows)
}

/// The last sequence that the rows contain.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn checkpoint(model: &ReadModel) -> Result<Sequence, ReadModelError> {
    let sql = "SELECT sequence FROM hansard.provider_log_checkpoint";
    let rows = model.fetch(sql, PgArguments::default).await?;
    sequence_of(&rows).map(Option::unwrap_or_default)
}

/// Resets the checkpoint because the stream was replaced. Keeps the lease.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn restart(model: &ReadModel, holder: &Holder) -> Result<(), ReadModelError> {
    let arguments = || arguments![holder.0.as_str()];
    let sql = "UPDATE hansard.provider_log_checkpoint SET sequence = 0 WHERE holder = $1";
    model.fetch(sql, arguments).await.map(drop)
}

fn sequence_of(rows: &[PgRow]) -> Result<Option<Sequence>, ReadModelError> {
    let sequence = rows.first().map(|row| row.try_get(0)).transpose()?;
    Ok(sequence.map(|sequence| Sequence(unsigned(sequence))))
}
