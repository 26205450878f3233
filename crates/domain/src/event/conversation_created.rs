//! The conversation began.

use crate::conversation::{ClientContext, ForkPoint, Owner};
use crate::id::{AgentId, Label};
use crate::json::JsonText;

/// The first event of every conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConversationCreated {
    /// The agent that speaks in it.
    pub agent: AgentId,
    /// Who it belongs to.
    pub owner: Owner,
    /// Its title.
    pub title: Option<String>,
    /// Its metadata: a JSON object.
    pub metadata: Option<JsonText>,
    /// Where the client was.
    pub client_context: ClientContext,
    /// The provider's id of the conversation.
    pub provider_conversation_id: Option<Label>,
    /// What it goes on from, where it is a fork.
    pub forked_from: Option<ForkPoint>,
}
