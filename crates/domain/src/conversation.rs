//! A conversation as readers see it.

use crate::event::ClientContext;
use crate::head::Head;
use crate::id::{ConversationId, TenantId};
use crate::json::JsonText;
use crate::position::Position;
use crate::time::Timestamp;

/// A conversation's present state, without its events: a row of the read model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// Whose it is.
    pub tenant: TenantId,
    /// Its id.
    pub id: ConversationId,
    /// The head after its last commit.
    pub head: Head,
    /// Where its last commit stands in the record.
    pub position: Position,
    /// When its first commit was recorded.
    pub created_at: Timestamp,
    /// Its title.
    pub title: Option<String>,
    /// Its metadata: a JSON object.
    pub metadata: Option<JsonText>,
    /// Where the client was when it began.
    pub client_context: ClientContext,
}
