//! The conversation's title, metadata or provider ids changed.

use crate::field_change::FieldChange;
use crate::id::Label;
use crate::json::JsonText;

/// Each field is unchanged (`None`), set or cleared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConversationUpdated {
    /// The title.
    pub title: Option<FieldChange<String>>,
    /// The metadata: a JSON object, replaced whole.
    pub metadata: Option<FieldChange<JsonText>>,
    /// The provider's id of the conversation.
    pub provider_conversation_id: Option<FieldChange<Label>>,
    /// The provider's id of its last response.
    pub last_response_id: Option<FieldChange<Label>>,
}
