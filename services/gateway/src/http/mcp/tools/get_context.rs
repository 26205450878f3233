//! `get_context`: what a model reads next, rendered in a format, with its receipt.

use rmcp::model::Tool;
use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ToolContext, ToolName, bounded, define, reads};
use crate::http::mcp::failure::Failure;
use crate::http::v1::conversations::context::rendered_context::{ContextQuery, render};

/// Most messages that can be asked for.
const MESSAGES_MAX: u32 = 1_000;

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The conversation.
    conversation_id: String,
    /// The format: openai-chat, openai-responses, anthropic, gemini, ollama or canonical.
    format: String,
    /// The model's context window in tokens, instead of the one in the agent's policy.
    budget: Option<u32>,
    /// Most messages; as many as the budget has room for if it is left out.
    #[schemars(range(min = 1, max = 1000))]
    messages: Option<i64>,
}

/// A context.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Context {
    /// The conversation.
    conversation_id: String,
    /// The version of the conversation that the context was assembled from.
    version: u64,
    /// The part of a model request's body that contains the context, as JSON text. Its bytes are those of the receipt.
    body: String,
    /// The receipt, which reproduces the same bytes later.
    receipt: Map<String, Value>,
    /// With a budget: the policy of the receipt, which no agent has.
    policy: Option<Map<String, Value>>,
}

pub(super) fn definition() -> Tool {
    define::<Arguments, Context>(
        ToolName::GetContext,
        "Get context",
        "Assembles what a model should read next: the agent's instructions, summaries and turns, within a token budget, redacted, in \
         the format of a provider. The receipt proves what was sent. For plain messages call fetch_chat_history.",
        reads(),
    )
}

pub(super) async fn call(context: ToolContext<'_>, arguments: Arguments) -> Result<Context, Failure> {
    let id = arguments.conversation_id;
    let messages = arguments
        .messages
        .map(Some)
        .map_or(Ok(None), |given| bounded("messages", given, MESSAGES_MAX, MESSAGES_MAX).map(Some))?;
    let query = ContextQuery { format: arguments.format, budget: arguments.budget, messages, version: None };
    let target = context.caller.target(context.state, &id).await.map_err(|problem| Failure::of(problem, &id))?;
    let rendered = render(context.state, &target, query).await.map_err(|problem| Failure::of(problem, &id))?;
    Ok(Context {
        conversation_id: id,
        version: rendered.version,
        body: rendered.body.get().to_owned(),
        receipt: object(rendered.receipt),
        policy: rendered.policy.map(object),
    })
}

/// Receipts and policies are objects.
fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}
