//! Whose documents a read returns.

use domain::{ConversationId, Owner};

use crate::owner_text::owner_text;

/// Whose documents to read. The agent is that of the caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DocumentScope {
    /// Documents of this owner; those of an agent itself have a channel as their owner.
    Owner(Owner),
    /// Documents of this conversation.
    Conversation(ConversationId),
}

impl DocumentScope {
    /// The statement of the scope, and the value of its column.
    pub(super) fn choose<'s>(&self, statements: &'s [String; 2]) -> (&'s str, String) {
        let [by_owner, by_conversation] = statements;
        match self {
            Self::Owner(owner) => (by_owner, owner_text(owner)),
            Self::Conversation(id) => (by_conversation, id.as_str().to_owned()),
        }
    }
}

/// The statements by owner and by conversation. `{scope}` in the template is the column.
pub(super) fn by_scope(template: &str) -> [String; 2] {
    ["owner", "conversation_id"].map(|column| template.replace("{scope}", &format!("document.{column}")))
}
