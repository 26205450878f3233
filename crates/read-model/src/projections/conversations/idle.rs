//! Finds idle conversations, for the archive.

use domain::{ConversationKey, Timestamp};

use super::verification::RowPosition;
use crate::arguments::{bind, bind_keys, key_parts};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::pg_timestamp::PgTimestamp;

/// The conversations among `keys` whose last event is earlier than `before`, by tenant and id. Erased and parked ones and
/// those without a row are excluded.
///
/// # Errors
/// [`ReadModelError::Unavailable`], or [`ReadModelError::Corrupt`] for a row with an invalid key.
pub async fn idle_conversations(
    model: &ReadModel,
    keys: &[&ConversationKey],
    before: Timestamp,
) -> Result<Vec<RowPosition>, ReadModelError> {
    let keys = || keys.iter().copied().map(key_parts);
    let arguments = || bind(bind_keys(keys()), PgTimestamp::from_time(before));
    let sql = include_str!("idle_conversations.sql");
    let rows = model.fetch(sql, arguments).await?;
    rows.iter().map(RowPosition::from_row).collect()
}
