//! `fetch_chat_history`: the last messages of a conversation.

use rmcp::model::Tool;
use rmcp::schemars::JsonSchema;
use serde::Deserialize;

use super::messages::{self, HistoryObject, MESSAGES_MAX};
use super::{ToolContext, ToolName, bounded, define, reads};
use crate::http::mcp::failure::Failure;

/// The number of messages if none is asked for.
const MESSAGES_DEFAULT: u32 = 10;

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The conversation, from `create_conversation` or `list_conversations`.
    conversation_id: String,
    /// How many of the last messages to return; 10 if it is left out.
    #[schemars(range(min = 1, max = 100), extend("default" = 10))]
    limit: Option<i64>,
}

pub(super) fn definition() -> Tool {
    define::<Arguments, HistoryObject>(
        ToolName::FetchChatHistory,
        "Fetch chat history",
        "Returns the last messages of a conversation, oldest first, with its title and owner. Call it at the start of a request to \
         rebuild the context. Messages that were replaced by an edit or a regenerated answer are left out, and so are the oldest \
         messages beyond 4 MiB.",
        reads(),
    )
}

pub(super) async fn call(context: ToolContext<'_>, arguments: Arguments) -> Result<HistoryObject, Failure> {
    let limit =
        usize::try_from(bounded("limit", arguments.limit, MESSAGES_DEFAULT, MESSAGES_MAX)?).unwrap_or(usize::MAX);
    messages::newest(&context, &arguments.conversation_id, limit).await
}
