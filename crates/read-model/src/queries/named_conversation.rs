//! Finds a user's conversation by the name that a session gave it before the user claimed it.

use domain::{AgentId, ConversationId, TenantAccess, UserId};

use crate::arguments::arguments;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::Columns;

/// The user's conversation with this name, whoever named it; of several the one with the latest event. `None`: there is none.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn named_conversation(
    model: &ReadModel,
    access: &TenantAccess,
    agent: &AgentId,
    user: &UserId,
    name: &str,
) -> Result<Option<ConversationId>, ReadModelError> {
    let tenant = access.tenant();
    let start = ConversationId::named_start(name);
    let tag_chars = i32::try_from(ConversationId::NAME_TAG_CHARS).unwrap_or(i32::MAX);
    let arguments = || arguments![tenant.as_str(), agent.as_str(), user.as_str(), start.as_str(), tag_chars];
    let rows = model.read(access, include_str!("named_conversation.sql"), arguments).await?;
    let id = |row| {
        let id: &str = Columns::new(row, tenant, "?").get(0, "conversation_id")?;
        ConversationId::parse(id)
            .map_err(|_| ReadModelError::corrupt("conversation", format!("{tenant}/?"), "conversation_id"))
    };
    rows.first().map(id).transpose()
}
