//! Deletes expired calls.

use domain::Timestamp;

use crate::arguments::arguments;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::pg_timestamp::PgTimestamp;

/// Maximum number of calls that [`expire`] deletes at once.
pub const EXPIRED_PER_CALL_MAX: u32 = 1_000;

/// Deletes at most [`EXPIRED_PER_CALL_MAX`] calls that have expired at `now`, the oldest first. Returns their number.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn expire(model: &ReadModel, now: Timestamp) -> Result<u64, ReadModelError> {
    let arguments = || arguments![PgTimestamp::from_time(now), i64::from(EXPIRED_PER_CALL_MAX)];
    let deleted = model.fetch(include_str!("expire.sql"), arguments).await?;
    Ok(u64::try_from(deleted.len()).unwrap_or(u64::MAX))
}
