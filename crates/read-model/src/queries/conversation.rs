//! Reads one conversation without its events.

use domain::{Conversation, ConversationId, TenantAccess};

use crate::arguments::arguments;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::Columns;

/// The conversation in its row; an erased one contains only its tombstone. `None`: the tenant has no such row.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn conversation(
    model: &ReadModel,
    access: &TenantAccess,
    id: &ConversationId,
) -> Result<Option<Conversation>, ReadModelError> {
    let (tenant, id) = (access.tenant(), id.as_str());
    let arguments = || arguments![tenant.as_str(), id];
    let sql = include_str!("conversation.sql");
    let rows = model.read(access, sql, arguments).await?;
    let columns = rows.first().map(|row| Columns::new(row, tenant, id));
    columns.map(Columns::conversation).transpose()
}
