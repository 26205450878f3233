//! Finds idle conversations, for the archive.

use domain::{ConversationKey, Timestamp};

use super::verification::RowPosition;
use crate::arguments::{bind, bind_keys, key_parts};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::pg_timestamp::PgTimestamp;

/// Whether erased conversations, of which a tombstone is left, are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErasedConversations {
    /// They are found.
    Included,
    /// They are not.
    Excluded,
}

/// The conversations among `keys` whose last event is earlier than `before`, by tenant and id. Parked ones and those without a
/// row are excluded.
///
/// # Errors
/// [`ReadModelError::Unavailable`], or [`ReadModelError::Corrupt`] for a row with an invalid key.
pub async fn idle_conversations(
    model: &ReadModel,
    keys: &[&ConversationKey],
    before: Timestamp,
    erased: ErasedConversations,
) -> Result<Vec<RowPosition>, ReadModelError> {
    let keys = || keys.iter().copied().map(key_parts);
    let is_included = erased == ErasedConversations::Included;
    let arguments = || {
        let arguments = bind(bind_keys(keys()), PgTimestamp::from_time(before));
        bind(arguments, is_included)
    };
    let sql = include_str!("idle_conversations.sql");
    let rows = model.fetch(sql, arguments).await?;
    rows.iter().map(RowPosition::from_row).collect()
}
