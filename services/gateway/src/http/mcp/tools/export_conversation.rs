//! `export_conversation`: every event of a conversation, in pages.

use domain::{ConversationKey, Version};
use history::{Bounds, Direction, Page, Range, decode};
use read_model::EventRow;
use rmcp::model::Tool;
use rmcp::schemars::JsonSchema;
use runs::Disclosure;
use runtime::http::HttpProblem;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wire::status::Problem;

use super::{ToolContext, ToolName, bounded, define, reads};
use crate::http::mcp::failure::Failure;
use api_json::fact::EventBody;
use conversations::problem::of_contradiction;

/// The number of events if none is asked for.
const EVENTS_DEFAULT: u32 = 100;
/// Most events of an answer.
const EVENTS_MAX: u32 = 500;
/// Most bytes of the events of an answer, as the record stores them. An answer has at least one event.
const EXPORT_BYTES_MAX: u64 = 1024 * 1024;

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The conversation.
    conversation_id: String,
    /// The first event: `next_version` of the previous page; 1 if it is left out.
    #[schemars(range(min = 1), extend("default" = 1))]
    from_version: Option<u64>,
    /// How many events to return; 100 if it is left out.
    #[schemars(range(min = 1, max = 500), extend("default" = 100))]
    limit: Option<i64>,
}

/// A page of events.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Export {
    /// The conversation.
    conversation_id: String,
    /// The version of its last event.
    version: u64,
    /// The events in order. Each has version, eventId, commitId, recordedAt, type, and the members of its type.
    events: Vec<Map<String, Value>>,
    /// The `from_version` of the next page; null: this is the last page.
    next_version: Option<u64>,
}

pub(super) fn definition() -> Tool {
    define::<Arguments, Export>(
        ToolName::ExportConversation,
        "Export conversation",
        "Returns everything that was recorded in a conversation, in order: messages, tool calls, results and notes, also what an \
         edit hides. Answers are pages of at most 500 events and 1 MiB; call again with next_version until it is null.",
        reads(),
    )
}

pub(super) async fn call(context: ToolContext<'_>, arguments: Arguments) -> Result<Export, Failure> {
    let limit = bounded("limit", arguments.limit, EVENTS_DEFAULT, EVENTS_MAX)?;
    let from = Version(arguments.from_version.unwrap_or(1).max(1));
    let id = arguments.conversation_id;
    page(context, &id, from, limit).await.map_err(|problem| Failure::of(problem, &id))
}

async fn page(context: ToolContext<'_>, id: &str, from: Version, limit: u32) -> Result<Export, HttpProblem> {
    let target = context.caller.target(context.state, id).await?;
    let range = Range { from, ..Range::all(Direction::Forward) };
    let bounds = Bounds::of(limit, EXPORT_BYTES_MAX);
    let page = Page::recorded(&context.state.gateway.reader, &target, range, bounds).await?;
    let disclosure = context.caller.disclosure(context.state);
    let events: Result<_, Problem> =
        page.events.iter().filter_map(|row| event(&target.key, row, &disclosure).transpose()).collect();
    Ok(Export {
        conversation_id: id.to_owned(),
        version: page.position.version.0,
        events: events?,
        next_version: page.next.map(|next| next.version.0),
    })
}

/// An event, as far as it is disclosed.
fn event(
    key: &ConversationKey,
    row: &EventRow,
    disclosure: &Disclosure,
) -> Result<Option<Map<String, Value>>, Problem> {
    let Some(event) = disclosure.event(decode(key, row)?) else {
        return Ok(None);
    };
    match serde_json::to_value(EventBody::from(&event)) {
        Ok(Value::Object(event)) => Ok(Some(event)),
        Ok(_) | Err(_) => Err(of_contradiction("an event is no object of JSON".to_owned())),
    }
}
