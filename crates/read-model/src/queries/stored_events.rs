//! Counts the events of a conversation in the rows.

use domain::{ConversationId, TenantAccess};
use sqlx::Row as _;

use crate::arguments::arguments;
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// The events of a conversation in the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoredEvents {
    /// Their number. Events that a fork inherits are those of its ancestors.
    pub count: u64,
    /// The bytes of their bodies.
    pub size_bytes: u64,
}

/// The own events of a conversation, according to the rows; none if the tenant has no such conversation.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn stored_events(
    model: &ReadModel,
    access: &TenantAccess,
    conversation: &ConversationId,
) -> Result<StoredEvents, ReadModelError> {
    let (tenant, id) = (access.tenant().as_str(), conversation.as_str());
    let arguments = || arguments![tenant, id];
    let sql = include_str!("stored_events.sql");
    let rows = model.read(access, sql, arguments).await?;
    let Some(row) = rows.first() else {
        return Ok(StoredEvents::default());
    };
    let number = |column: usize| -> Result<u64, ReadModelError> {
        let number: i64 = row.try_get(column)?;
        u64::try_from(number).map_err(|_| ReadModelError::corrupt("event", format!("{tenant}/{id}"), "body"))
    };
    Ok(StoredEvents { count: number(0)?, size_bytes: number(1)? })
}
