//! Who projects the log, and how far it is.

use domain::Sequence;
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::projections::Holder;
use crate::queries::{bind, signed};

/// Takes the projection, or holds it on, for `ttl_ms`; the last sequence that the rows hold. `None`: another has it.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn take(
    model: &ReadModel,
    holder: &Holder,
    ttl_ms: u64,
) -> Result<Option<Sequence>, ReadModelError> {
    let arguments = || {
        let arguments = bind(PgArguments::default(), holder.0.as_str());
        bind(arguments, signed(ttl_ms))
    };
    let rows = model.fetch(include_str!("take.sql"), arguments).await?;
    sequence_of(&rows)
}

/// The last sequence that the rows hold.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn checkpoint(model: &ReadModel) -> Result<Sequence, ReadModelError> {
    let sql = "SELECT sequence FROM hansard.provider_log_checkpoint";
    let rows = model.fetch(sql, PgArguments::default).await?;
    sequence_of(&rows).map(Option::unwrap_or_default)
}

/// Goes back to the beginning, where the stream is another one than the rows were made from; what is held stays held.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn restart(model: &ReadModel, holder: &Holder) -> Result<(), ReadModelError> {
    let arguments = || bind(PgArguments::default(), holder.0.as_str());
    let sql = "UPDATE hansard.provider_log_checkpoint SET sequence = 0 WHERE holder = $1";
    model.fetch(sql, arguments).await.map(drop)
}

fn sequence_of(rows: &[PgRow]) -> Result<Option<Sequence>, ReadModelError> {
    let sequence = rows.first().map(|row| row.try_get::<i64, _>(0));
    let sequence = sequence.transpose()?;
    Ok(sequence.map(|sequence| Sequence(u64::try_from(sequence).unwrap_or_default())))
}
