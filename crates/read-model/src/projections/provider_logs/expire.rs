//! The end of what is no longer kept.

use domain::Timestamp;
use sqlx::postgres::PgArguments;

use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::moment::Moment;
use crate::queries::bind;

/// Most calls that one call of [`expire`] removes.
pub const EXPIRED_PER_CALL_MAX: u32 = 1_000;

/// Removes calls whose time is over at `now`, the oldest first, and [`EXPIRED_PER_CALL_MAX`] at most; how many.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn expire(model: &ReadModel, now: Timestamp) -> Result<u64, ReadModelError> {
    let arguments = || {
        let arguments = bind(PgArguments::default(), Moment::of(now));
        bind(arguments, i64::from(EXPIRED_PER_CALL_MAX))
    };
    let gone = model.fetch(include_str!("expire.sql"), arguments).await?;
    Ok(u64::try_from(gone.len()).unwrap_or(u64::MAX))
}
