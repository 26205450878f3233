//! The tools: their names, definitions and calls. One file a tool.

mod create_conversation;
mod export_conversation;
mod fetch_chat_history;
mod fork_conversation;
mod get_context;
mod get_conversation;
mod list_conversations;
pub(super) mod messages;
mod new_conversation;
mod record_interaction;
mod search_conversations;

use domain::ViolationReason;
use std::sync::Arc;

use axum::http::StatusCode;
use registry::Scope;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use runtime::http::{HttpProblem, from_json_value};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use wire::status::Reason;

use super::caller::McpCaller;
use super::failure::Failure;
use conversations::problem::of_contradiction;
use http_listener::state::HttpState;

/// What every tool gets.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolContext<'a> {
    pub(super) state: &'a HttpState,
    pub(super) caller: &'a McpCaller,
}

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolName {
    FetchChatHistory,
    RecordInteraction,
    CreateConversation,
    GetConversation,
    ListConversations,
    SearchConversations,
    GetContext,
    ForkConversation,
    ExportConversation,
}

impl ToolName {
    /// Every tool, in the order of listings.
    pub(super) const ALL: [Self; 9] = [
        Self::FetchChatHistory,
        Self::RecordInteraction,
        Self::CreateConversation,
        Self::GetConversation,
        Self::ListConversations,
        Self::SearchConversations,
        Self::GetContext,
        Self::ForkConversation,
        Self::ExportConversation,
    ];

    /// The tool with this name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.as_str() == name)
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::FetchChatHistory => "fetch_chat_history",
            Self::RecordInteraction => "record_interaction",
            Self::CreateConversation => "create_conversation",
            Self::GetConversation => "get_conversation",
            Self::ListConversations => "list_conversations",
            Self::SearchConversations => "search_conversations",
            Self::GetContext => "get_context",
            Self::ForkConversation => "fork_conversation",
            Self::ExportConversation => "export_conversation",
        }
    }

    /// Whether the caller's token may use the tool. The contexts of an agent contain its instructions, which are not for users.
    pub(super) fn is_for(self, caller: &McpCaller) -> bool {
        match self {
            Self::FetchChatHistory
            | Self::GetConversation
            | Self::ListConversations
            | Self::SearchConversations
            | Self::ExportConversation => caller.has(Scope::Read),
            Self::RecordInteraction | Self::CreateConversation => caller.has(Scope::Append),
            Self::ForkConversation => caller.has(Scope::Append) && caller.has(Scope::Read),
            Self::GetContext => caller.has(Scope::Read) && !matches!(caller, McpCaller::User(_)),
        }
    }

    fn refused(self) -> HttpProblem {
        let detail = match self {
            Self::GetContext => "the token may not read contexts: use a service token with the scope read",
            Self::FetchChatHistory
            | Self::GetConversation
            | Self::ListConversations
            | Self::SearchConversations
            | Self::ExportConversation => "the token lacks the scope read: use one that has it",
            Self::RecordInteraction | Self::CreateConversation | Self::ForkConversation => {
                "the token lacks the scope append: use a service token that has it"
            }
        };
        let code = Reason::MissingScope.as_str();
        HttpProblem::new(StatusCode::FORBIDDEN, code, detail)
    }

    /// The definition for listings.
    pub(super) fn definition(self) -> Tool {
        match self {
            Self::FetchChatHistory => fetch_chat_history::definition(),
            Self::RecordInteraction => record_interaction::definition(),
            Self::CreateConversation => create_conversation::definition(),
            Self::GetConversation => get_conversation::definition(),
            Self::ListConversations => list_conversations::definition(),
            Self::SearchConversations => search_conversations::definition(),
            Self::GetContext => get_context::definition(),
            Self::ForkConversation => fork_conversation::definition(),
            Self::ExportConversation => export_conversation::definition(),
        }
    }

    /// Calls the tool. A caller whose token may not use it learns nothing about conversations.
    pub(super) async fn call(self, context: ToolContext<'_>, arguments: JsonObject) -> CallToolResult {
        if !self.is_for(context.caller) {
            return Failure::from(self.refused()).into_result();
        }
        let conversation = arguments.get("conversation_id").and_then(Value::as_str);
        if let Err(problem) = context.caller.record_read(context.state, self.as_str(), conversation).await {
            return Failure::from(problem).into_result();
        }
        let arguments = Value::Object(arguments);
        let result = match self {
            Self::FetchChatHistory => run(arguments, fetch_chat_history::call, context).await,
            Self::RecordInteraction => run(arguments, record_interaction::call, context).await,
            Self::CreateConversation => run(arguments, create_conversation::call, context).await,
            Self::GetConversation => run(arguments, get_conversation::call, context).await,
            Self::ListConversations => run(arguments, list_conversations::call, context).await,
            Self::SearchConversations => run(arguments, search_conversations::call, context).await,
            Self::GetContext => run(arguments, get_context::call, context).await,
            Self::ForkConversation => run(arguments, fork_conversation::call, context).await,
            Self::ExportConversation => run(arguments, export_conversation::call, context).await,
        };
        result.unwrap_or_else(|failure| match context.caller {
            McpCaller::User(_) => failure.for_visitor().into_result(),
            McpCaller::Service(_) | McpCaller::Admin(_) => failure.into_result(),
        })
    }
}

/// Parses the arguments, calls the tool, and writes its result as structured content and as text.
async fn run<'a, A: DeserializeOwned, R: Serialize>(
    arguments: Value,
    call: impl AsyncFnOnce(ToolContext<'a>, A) -> Result<R, Failure>,
    context: ToolContext<'a>,
) -> Result<CallToolResult, Failure> {
    let arguments = from_json_value(arguments)?;
    let result = serde_json::to_value(&call(context, arguments).await?).map_err(|error| unwritable(&error))?;
    let mut answer = CallToolResult::success(vec![ContentBlock::text(result.to_string())]);
    answer.structured_content = Some(result);
    Ok(answer)
}

fn unwritable(error: &serde_json::Error) -> HttpProblem {
    HttpProblem::from(of_contradiction(error.to_string()))
}

/// The definition of a tool whose arguments are an `A` and whose result is an `R`.
fn define<A: JsonSchema + 'static, R: JsonSchema + 'static>(
    tool: ToolName,
    title: &str,
    description: &'static str,
    annotations: ToolAnnotations,
) -> Tool {
    let mut defined = Tool::new(tool.as_str(), description, JsonObject::new())
        .with_title(title)
        .with_input_schema::<A>()
        .with_output_schema::<R>()
        .with_annotations(annotations);
    let output = defined.output_schema.as_mut();
    for schema in std::iter::once(&mut defined.input_schema).chain(output) {
        Arc::make_mut(schema).values_mut().for_each(remove_number_formats);
    }
    defined
}

/// Removes formats such as `uint32`, which JSON Schema does not have: clients warn about them.
fn remove_number_formats(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            let format = members.get("format").and_then(Value::as_str);
            if format.is_some_and(|format| format.trim_start_matches('u').starts_with("int")) {
                members.remove("format");
            }
            members.values_mut().for_each(remove_number_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_number_formats),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The tool reads the record and nothing else.
fn reads() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false)
}

/// The tool adds to the record; every call adds again.
fn adds() -> ToolAnnotations {
    ToolAnnotations::new().read_only(false).destructive(false).idempotent(false).open_world(false)
}

/// A number within its bounds, or the default.
///
/// # Errors
/// `FIELD_OUT_OF_RANGE`.
fn bounded(field: &'static str, given: Option<i64>, default: u32, max: u32) -> Result<u32, HttpProblem> {
    let Some(given) = given else {
        return Ok(default);
    };
    let number = u32::try_from(given).ok().filter(|number| (1..=max).contains(number));
    number.ok_or_else(|| {
        let detail = format!("must be between 1 and {max}, and is {given}");
        HttpProblem::of_field(ViolationReason::OutOfRange, field, detail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_found_by_its_name_and_has_schemas_of_objects() {
        for tool in ToolName::ALL {
            assert_eq!(ToolName::parse(tool.as_str()), Some(tool));
            let definition = tool.definition();
            assert_eq!(definition.name, tool.as_str());
            assert_eq!(definition.input_schema["type"], "object");
            assert_eq!(definition.input_schema["additionalProperties"], false);
            assert!(definition.output_schema.is_some(), "{}", tool.as_str());
            let text = serde_json::to_string(&definition).unwrap();
            assert!(!text.contains(r#""format":"uint"#), "{text}");
        }
        assert_eq!(ToolName::parse("erase_conversation"), None);
    }

    #[test]
    fn numbers_are_bounded() {
        for (given, expected) in [
            (None, Some(10)),
            (Some(1), Some(1)),
            (Some(100), Some(100)),
            (Some(0), None),
            (Some(-1), None),
            (Some(101), None),
            (Some(i64::MAX), None),
        ] {
            assert_eq!(bounded("limit", given, 10, 100).ok(), expected, "{given:?}");
        }
    }
}
