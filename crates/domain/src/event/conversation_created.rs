//! The conversation was created.

use crate::id::{AgentId, ConversationId, Label};
use crate::json::JsonText;
use crate::owner::Owner;
use crate::position::Version;

/// The first event of every conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConversationCreated {
    /// The agent that speaks in it.
    pub agent: AgentId,
    /// Its owner.
    pub owner: Owner,
    /// Its title.
    pub title: Option<String>,
    /// Its metadata: a JSON object.
    pub metadata: Option<JsonText>,
    /// The client's context.
    pub client_context: ClientContext,
    /// The provider's id of the conversation.
    pub provider_conversation_id: Option<Label>,
    /// The point that a fork continues.
    pub forked_from: Option<ForkPoint>,
}

/// The client's context when the conversation was created. Every field is optional.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ClientContext {
    /// The page that the client was on.
    pub page_url: Option<String>,
    /// The page before it.
    pub referrer: Option<String>,
    /// The client's user agent.
    pub user_agent: Option<String>,
    /// The client's locale: a BCP 47 tag.
    pub locale: Option<String>,
    /// The client's timezone: an IANA name.
    pub timezone: Option<String>,
    /// A JSON object of the client.
    pub custom_metadata: Option<JsonText>,
}

/// The point at which a fork continues another conversation.
///
/// The fork's first event has the next version, so both form one dense history.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ForkPoint {
    /// The conversation, of the same tenant and agent.
    pub conversation: ConversationId,
    /// The last version that the fork inherits.
    pub version: Version,
    /// The number of ancestors of the fork; 1 to [`crate::bounds::FORK_DEPTH_MAX`].
    pub depth: u32,
}
