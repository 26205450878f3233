//! Finds a user's conversations by the name that sessions gave them before the user claimed them.

use domain::{AgentId, ConversationId, TenantAccess, UserId};

use crate::arguments::arguments;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::Columns;

/// Maximum number of conversations of one read: of a user who has claimed several sessions that used one name.
pub const NAMED_PER_READ_MAX: i64 = 16;

/// The user's conversations with this name, also those that sessions named, and erased ones; by id, at most [`NAMED_PER_READ_MAX`].
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn named_conversations(
    model: &ReadModel,
    access: &TenantAccess,
    agent: &AgentId,
    user: &UserId,
    name: &str,
) -> Result<Vec<ConversationId>, ReadModelError> {
    let tenant = access.tenant();
    let start = ConversationId::named_start(name);
    let tag_chars = i32::try_from(ConversationId::NAME_TAG_CHARS).unwrap_or(i32::MAX);
    let arguments =
        || arguments![tenant.as_str(), agent.as_str(), user.as_str(), start.as_str(), tag_chars, NAMED_PER_READ_MAX];
    let rows = model.read(access, include_str!("named_conversations.sql"), arguments).await?;
    let id = |row| {
        let id: &str = Columns::new(row, tenant, "?").get(0, "conversation_id")?;
        ConversationId::parse(id)
            .map_err(|_| ReadModelError::corrupt("conversation", format!("{tenant}/?"), "conversation_id"))
    };
    rows.iter().map(id).collect()
}
