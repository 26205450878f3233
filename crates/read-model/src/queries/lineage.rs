//! Reads the ancestors of a fork.

use domain::bounds::FORK_DEPTH_MAX;
use domain::{ConversationId, TenantAccess};

use crate::arguments::arguments;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::{Columns, HeadRow};

/// A conversation, its parent and its further ancestors, in this order, at most [`FORK_DEPTH_MAX`]. The list ends before the
/// first one without a row.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn lineage(
    model: &ReadModel,
    access: &TenantAccess,
    conversation: &ConversationId,
) -> Result<Vec<(ConversationId, HeadRow)>, ReadModelError> {
    let (tenant, conversation) = (access.tenant(), conversation.as_str());
    let arguments = || {
        let depth_max = FORK_DEPTH_MAX.cast_signed();
        arguments![tenant.as_str(), conversation, depth_max]
    };
    let sql = include_str!("lineage.sql");
    let rows = model.read(access, sql, arguments).await?;
    let ancestors = rows.iter().map(|row| {
        let columns = Columns::new(row, tenant, conversation);
        let id: &str = columns.get(5, "conversation_id")?;
        let id = ConversationId::parse(id).map_err(|_| columns.corrupt("conversation_id"))?;
        Ok((id, columns.head_row()?))
    });
    ancestors.collect()
}
