//! The recent calls of an agent's webhooks, as conversations record them.

use std::collections::HashMap;

use domain::event::{ToolOutcome, ToolOutput, ToolReturned};
use domain::{AgentId, Conversation, ConversationId, EventKind, Fact, TenantAccess, Timestamp, Version};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use history::Deadline;
use pages::dashboard::settings::webhooks::{DeliveryRow, WebhookRow};
use read_model::EventRow;
use read_model::ReadModel;
use read_model::queries::{self, EventQuery, ListFilter, ListQuery};
use runtime::http::HttpProblem;
use wire::status::Problem;

use conversations::turns::webhook_failure;
use http_listener::state::HttpState;

/// The conversations of the agent that are searched: those that changed last.
pub(super) const CONVERSATIONS_SEARCHED: u32 = 20;
/// Calls that the page shows.
const DELIVERIES_MAX: usize = 50;
/// Calls and results of a conversation that are examined, the newest ones.
const EVENTS_EXAMINED: u32 = 40;
/// Bytes of them that are read, but for the last one.
const EVENT_BYTES_MAX: u64 = 256 * 1024;
/// Conversations that are searched concurrently.
const SEARCHES_IN_FLIGHT: usize = 4;

/// The calls of these webhooks, the newest first.
pub(super) async fn deliveries(
    state: &HttpState,
    tenant: &TenantAccess,
    agent: &str,
    webhooks: &[WebhookRow],
) -> Result<Vec<DeliveryRow>, HttpProblem> {
    let Ok(agent) = AgentId::parse(agent) else {
        return Ok(Vec::new());
    };
    if webhooks.is_empty() {
        return Ok(Vec::new());
    }
    let model = &state.gateway.reader.read_model;
    let newest = newest(model, tenant, agent).await?;
    let reads = stream::iter(newest.into_iter().map(|one| events(model, tenant, one.id))).buffered(SEARCHES_IN_FLIGHT);
    let found: Vec<_> = reads.try_collect().await?;
    let rows = found.into_iter().flat_map(|(id, events)| rows(&id, events));
    let is_of_webhook = |row: &DeliveryRow| webhooks.iter().any(|known| known.tool == row.tool);
    let mut rows: Vec<DeliveryRow> = rows.filter(is_of_webhook).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.at));
    rows.truncate(DELIVERIES_MAX);
    Ok(rows)
}

async fn newest(model: &ReadModel, tenant: &TenantAccess, agent: AgentId) -> Result<Vec<Conversation>, Problem> {
    let query = ListQuery {
        filter: ListFilter::Agent(agent),
        status: None,
        active_after: None,
        active_before: None,
        after: None,
        limit: CONVERSATIONS_SEARCHED,
    };
    let list = queries::list_conversations(model, tenant, &query);
    Deadline::until(None).rows(list).await
}

async fn events(
    model: &ReadModel,
    tenant: &TenantAccess,
    id: ConversationId,
) -> Result<(ConversationId, Vec<EventRow>), Problem> {
    let query = EventQuery {
        kinds: vec![EventKind::ToolCalled, EventKind::ToolReturned],
        ..EventQuery::latest(EVENTS_EXAMINED, EVENT_BYTES_MAX)
    };
    let events = Deadline::until(None).rows(queries::events(model, tenant, &id, &query)).await?;
    Ok((id, events))
}

/// The results among some events, the newest first. An event that cannot be read is left out; that is reported where the
/// conversation is read.
fn rows(conversation: &ConversationId, newest_first: Vec<EventRow>) -> Vec<DeliveryRow> {
    let mut called_at = HashMap::new();
    let mut rows = Vec::new();
    for event in newest_first.into_iter().rev() {
        let Ok(decoded) = wire::commit::decode_event(event.bytes) else {
            continue;
        };
        match decoded.fact {
            Fact::ToolCalled(call) => {
                called_at.insert(call.call_id, event.recorded_at);
            }
            Fact::ToolReturned(result) => {
                let called_at = called_at.remove(&result.call_id);
                rows.extend(row(conversation, (event.version, event.recorded_at), called_at, &result));
            }
            Fact::MessageAppended(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => {}
        }
    }
    rows.reverse();
    rows
}

/// `None`: the result has no tool.
fn row(
    conversation: &ConversationId,
    (version, at): (Version, Timestamp),
    called_at: Option<Timestamp>,
    result: &ToolReturned,
) -> Option<DeliveryRow> {
    Some(DeliveryRow {
        at,
        called_at,
        conversation: conversation.as_str().to_owned(),
        version,
        outcome: match result.outcome {
            ToolOutcome::Succeeded => "succeeded",
            ToolOutcome::Failed => "failed",
        },
        failure: webhook_failure(result).map(str::to_owned),
        size_bytes: size(result),
        tool: result.tool_name.as_ref()?.as_str().to_owned(),
    })
}

/// The bytes of a result.
fn size(result: &ToolReturned) -> u64 {
    let bytes = match &result.output {
        ToolOutput::Json(json) => json.as_str().len(),
        ToolOutput::Parts(parts) => api_json::content::texts(parts).map(str::len).sum(),
    };
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
