//! Conversations in which nothing happens any more: for whoever archives them.

use domain::{ConversationKey, Timestamp};
use sqlx::postgres::PgArguments;

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
    rows.iter().map(RowPlace::of).collect()
}
