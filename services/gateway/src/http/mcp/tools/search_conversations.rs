//! `search_conversations`: finds texts in conversations.

use history::Deadline;
use rmcp::model::Tool;
use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ToolContext, ToolName, bounded, define, reads};
use crate::http::mcp::caller::McpCaller;
use crate::http::mcp::failure::Failure;
use crate::http::mcp::time::iso8601;
use conversations::positions;
use conversations::search::{SearchAgents, SearchAudience, SearchOrder, SearchRequest, SearchResult, search};

/// The number of results if none is asked for.
const RESULTS_DEFAULT: u32 = 10;
/// Most results of an answer.
const RESULTS_MAX: u32 = 100;

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Words that must all occur, "phrases" in quotes, -excluded words, and filters: role:user, tool:NAME, user:ID, agent:ID,
    /// after:2026-01-31, before:2026-02-28, has:tool, has:error, has:attachment, has:title. At most 512 bytes.
    query: String,
    /// Whether the best matches come first, instead of the newest.
    by_relevance: Option<bool>,
    /// How many results to return; 10 if it is left out.
    #[schemars(range(min = 1, max = 100), extend("default" = 10))]
    limit: Option<i64>,
    /// The agent. Only needed if the tenant has several agents and the host names none.
    agent_id: Option<String>,
}

/// The results.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ResultsPage {
    /// The results, the newest or the best first.
    results: Vec<FoundObject>,
    /// Whether there are more results: narrow the query to see them.
    has_more: bool,
    /// Everything that was recorded before this time was searched; ISO 8601. Null: unknown.
    indexed_until: Option<String>,
}

/// A result.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct FoundObject {
    /// The conversation. Pass it to the other tools.
    conversation_id: String,
    /// The title of the conversation.
    title: Option<String>,
    /// What matches: title, message, `tool_call` or `tool_result`.
    kind: &'static str,
    /// The version of the event; null: the title matches.
    version: Option<u64>,
    /// Who wrote the message.
    role: Option<&'static str>,
    /// The tool of the call or result.
    tool_name: Option<String>,
    /// When it was recorded; ISO 8601.
    created_at: String,
    /// The text around the first match.
    snippet: String,
}

pub(super) fn definition() -> Tool {
    define::<Arguments, ResultsPage>(
        ToolName::SearchConversations,
        "Search conversations",
        "Finds texts in titles, messages, tool calls and tool results of earlier conversations, the newest first. Returns a snippet \
         and the conversation_id of each; read the conversation with get_conversation or fetch_chat_history.",
        reads(),
    )
}

pub(super) async fn call(context: ToolContext<'_>, arguments: Arguments) -> Result<ResultsPage, Failure> {
    let limit = bounded("limit", arguments.limit, RESULTS_DEFAULT, RESULTS_MAX)?;
    let named = arguments.agent_id.as_deref();
    let (access, agent) = context.caller.agent(context.state, named).await?;
    let (owner, audience) = match context.caller {
        McpCaller::User(caller) => (Some(caller.owner.clone()), SearchAudience::Visitor),
        McpCaller::Service(_) | McpCaller::Admin(_) => (None, SearchAudience::Staff),
    };
    let request = SearchRequest {
        access,
        agents: SearchAgents::Only(vec![agent]),
        owner,
        audience,
        query: &arguments.query,
        order: match arguments.by_relevance {
            Some(true) => SearchOrder::Relevance,
            Some(false) | None => SearchOrder::Newest,
        },
        page_token: "",
        page_size: limit,
        fences: positions::fences(),
        deadline: Deadline::until(None),
    };
    let page = search(&context.state.gateway, request).await?;
    Ok(ResultsPage {
        has_more: page.next.is_some(),
        results: page.results.into_iter().map(FoundObject::from).collect(),
        indexed_until: page.indexed_until.map(iso8601),
    })
}

impl From<SearchResult> for FoundObject {
    fn from(result: SearchResult) -> Self {
        let parts = result.snippet.iter().map(|part| part.text.as_str());
        Self {
            snippet: parts.collect(),
            conversation_id: result.conversation.as_str().to_owned(),
            title: result.title,
            kind: result.kind.as_str(),
            version: result.version.map(|version| version.0),
            role: result.role.map(domain::event::Role::as_str),
            tool_name: result.tool_name,
            created_at: iso8601(result.recorded_at),
        }
    }
}
