//! The heads of all conversations in the rows, page by page.

use domain::{ConversationKey, Head, Position, Sequence};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::row_key::parse_key;
use crate::arguments::{arguments, partition_of, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::head_of;

/// Maximum conversations of a page.
pub const HEADS_PER_PAGE: u32 = 500;

/// The head of a conversation in the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectedHead {
    /// The conversation.
    pub key: ConversationKey,
    /// The position of the last commit that the rows contain.
    pub position: Position,
    /// The head after it.
    pub head: Head,
}

/// The next conversations after a key, at most [`HEADS_PER_PAGE`], by tenant and id. Fewer: there are no more.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn projected_heads(
    model: &ReadModel,
    after: Option<&ConversationKey>,
) -> Result<Vec<ProjectedHead>, ReadModelError> {
    let arguments = || {
        let tenant = after.map_or("", |key| key.tenant.as_str());
        let conversation = after.map_or("", |key| key.conversation.as_str());
        arguments![tenant, conversation, i64::from(HEADS_PER_PAGE)]
    };
    let rows = model.fetch(include_str!("projected_heads.sql"), arguments).await?;
    rows.iter().map(projected_head).collect()
}

fn projected_head(row: &PgRow) -> Result<ProjectedHead, ReadModelError> {
    let key = parse_key(row.try_get("tenant_id")?, row.try_get("conversation_id")?)?;
    let head = head_of(row.try_get("head")?)
        .map_err(|field| ReadModelError::corrupt("conversation", key.conversation.as_str(), field))?;
    let position = Position {
        partition: partition_of(row.try_get("partition")?),
        sequence: Sequence(unsigned(row.try_get("sequence")?)),
    };
    Ok(ProjectedHead { key, position, head })
}
