//! Conversations in which nothing happens any more: for whoever archives them.

use domain::{ConversationKey, Partition, Position, Sequence, Timestamp};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use super::parking::key_of;
use super::verification::RowPlace;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::moment::Moment;
use crate::queries::bind;

/// Those of some conversations whose last event is earlier than a time, by tenant and id, without the erased and the parked
/// ones. A conversation without a row is not among them.
///
/// # Errors
/// [`ReadModelError::Unavailable`], or [`ReadModelError::Corrupt`] for a row whose key is none.
pub async fn quiet_among(
    model: &ReadModel,
    keys: &[&ConversationKey],
    before: Timestamp,
) -> Result<Vec<RowPlace>, ReadModelError> {
    let tenants: Vec<&str> = keys.iter().map(|key| key.tenant.as_str()).collect();
    let ids: Vec<&str> = keys.iter().map(|key| key.conversation.as_str()).collect();
    let arguments = || {
        let arguments = bind(PgArguments::default(), tenants.as_slice());
        bind(bind(arguments, ids.as_slice()), Moment::of(before))
    };
    let sql = include_str!("quiet_among.sql");
    let rows = model.fetch(sql, arguments).await?;
    rows.iter().map(place_of).collect()
}

fn place_of(row: &PgRow) -> Result<RowPlace, ReadModelError> {
    let (partition, sequence): (i32, i64) = (row.try_get(2)?, row.try_get(3)?);
    Ok(RowPlace {
        key: key_of(row.try_get(0)?, row.try_get(1)?)?,
        position: Position {
            partition: Partition(u16::try_from(partition).unwrap_or(u16::MAX)),
            sequence: Sequence(u64::try_from(sequence).unwrap_or(0)),
        },
    })
}
