//! The key of a row: its tenant and its conversation.

use domain::{ConversationId, ConversationKey, TenantId};

use crate::error::ReadModelError;

/// The key in two columns of a row.
pub(super) fn key_of(tenant: &str, conversation: &str) -> Result<ConversationKey, ReadModelError> {
    let corrupt = |field: &str| ReadModelError::Corrupt {
        table: "parked_conversation",
        row: format!("{tenant}/{conversation}"),
        field: field.to_owned(),
    };
    Ok(ConversationKey {
        tenant: TenantId::parse(tenant).map_err(|_| corrupt("tenant_id"))?,
        conversation: ConversationId::parse(conversation)
            .map_err(|_| corrupt("conversation_id"))?,
    })
}
