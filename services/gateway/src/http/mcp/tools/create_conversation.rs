//! `create_conversation`: a new conversation of a user.

use rmcp::model::Tool;
use rmcp::schemars::JsonSchema;
use serde::Deserialize;

use super::new_conversation::{NewConversation, create, owner, recorded_at};
use super::{ToolContext, ToolName, adds, define};
use crate::http::mcp::failure::Failure;
use crate::http::mcp::objects::ConversationObject;
use crate::http::mcp::time::iso8601;

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The user who owns the conversation; 1 to 256 bytes.
    user_id: String,
    /// Its title, at most 1,024 bytes.
    title: Option<String>,
    /// The agent. Only needed if the tenant has several agents and the host names none.
    agent_id: Option<String>,
}

pub(super) fn definition() -> Tool {
    define::<Arguments, ConversationObject>(
        ToolName::CreateConversation,
        "Create conversation",
        "Creates an empty conversation of a user and returns it with its id. Call it once when a new conversation begins, keep the \
         id, and pass it to record_interaction and fetch_chat_history.",
        adds(),
    )
}

pub(super) async fn call(context: ToolContext<'_>, arguments: Arguments) -> Result<ConversationObject, Failure> {
    let user_id = arguments.user_id.clone();
    let title = arguments.title.filter(|title| !title.is_empty());
    let new = NewConversation {
        agent: arguments.agent_id,
        owner: owner(context, arguments.user_id)?,
        title: title.clone().unwrap_or_default(),
        forked_from: None,
    };
    let commit = create(context, new).await?;
    let created_at = iso8601(recorded_at(&commit)?);
    Ok(ConversationObject {
        id: commit.conversation_id,
        user_id: Some(user_id),
        title,
        updated_at: created_at.clone(),
        created_at,
    })
}
