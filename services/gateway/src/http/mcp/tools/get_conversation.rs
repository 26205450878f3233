//! `get_conversation`: a conversation without its messages.

use rmcp::model::Tool;
use rmcp::schemars::JsonSchema;
use serde::Deserialize;

use super::{ToolContext, ToolName, define, reads};
use crate::http::mcp::failure::Failure;
use crate::http::mcp::objects::ConversationObject;
use conversations::open::read_conversation;

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The conversation, from `create_conversation` or `list_conversations`.
    conversation_id: String,
}

pub(super) fn definition() -> Tool {
    define::<Arguments, ConversationObject>(
        ToolName::GetConversation,
        "Get conversation",
        "Returns the title, the owner and the times of a conversation, without its messages. For the messages call \
         fetch_chat_history.",
        reads(),
    )
}

pub(super) async fn call(context: ToolContext<'_>, arguments: Arguments) -> Result<ConversationObject, Failure> {
    let id = &arguments.conversation_id;
    let target = context.caller.target(context.state, id).await.map_err(|problem| Failure::of(problem, id))?;
    let read = read_conversation(context.state, &target).await;
    let (conversation, _) = read.map_err(|problem| Failure::of(problem, id))?;
    Ok(ConversationObject::from(&conversation))
}
