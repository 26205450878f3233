//! A conversation as readers get it.

use crate::event::ClientContext;
use crate::head::Head;
use crate::id::{ConversationId, TenantId};
use crate::json::JsonText;
use crate::position::Position;
use crate::time::Timestamp;

/// The current state of a conversation without its events: a row of the read model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// The tenant.
    pub tenant: TenantId,
    /// Its id.
    pub id: ConversationId,
    /// The head after its last commit.
    pub head: Head,
    /// The position of its last commit.
    pub position: Position,
    /// When its first commit was recorded.
    pub created_at: Timestamp,
    /// Its title.
    pub title: Option<String>,
    /// Its metadata: a JSON object.
    pub metadata: Option<JsonText>,
    /// The client's context when the conversation was created.
    pub client_context: ClientContext,
}
