//! The key of a row: tenant and conversation.

use domain::{ConversationId, ConversationKey, TenantId};

use crate::error::ReadModelError;

/// Parses the key in two columns of a row.
pub(super) fn parse_key(tenant: &str, conversation: &str) -> Result<ConversationKey, ReadModelError> {
    let corrupt =
        |field: &str| ReadModelError::corrupt("parked_conversation", format!("{tenant}/{conversation}"), field);
    Ok(ConversationKey {
        tenant: TenantId::parse(tenant).map_err(|_| corrupt("tenant_id"))?,
        conversation: ConversationId::parse(conversation).map_err(|_| corrupt("conversation_id"))?,
    })
}
