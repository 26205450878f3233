//! The conversation began.

use crate::id::{AgentId, ConversationId, Label};
use crate::json::JsonText;
use crate::owner::Owner;
use crate::position::Version;

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

/// Where the client was when the conversation began. All of it is optional.
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
    /// Whatever else the client told: a JSON object.
    pub custom_metadata: Option<JsonText>,
}

/// Where a fork leaves the conversation that it goes on from.
///
/// The fork's first event has the version after it: together they read as one dense history.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ForkPoint {
    /// The conversation, of the same tenant and agent.
    pub conversation: ConversationId,
    /// The last version that the fork shares.
    pub version: Version,
    /// How many conversations stand behind the fork, one behind the other; 1 to [`crate::bounds::FORK_DEPTH_MAX`].
    pub depth: u32,
}
