//! The recent calls of an agent's webhooks, as conversations record them.

use domain::event::{ToolOutcome, ToolOutput, ToolReturned};
use domain::{AgentId, Conversation, ConversationId, EventKind, Fact, TenantAccess};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use history::Deadline;
use pages::dashboard::settings::webhooks::{DeliveryRow, WebhookRow};
use read_model::EventRow;
use read_model::ReadModel;
use read_model::queries::{self, EventQuery, ListFilter, ListQuery};
use runtime::http::HttpProblem;
use wire::status::Problem;

use crate::http::{HttpState, problem};

/// The conversations of the agent that are searched: those that changed last.
pub(super) const CONVERSATIONS_SEARCHED: u32 = 20;
/// Calls that the page shows.
const DELIVERIES_MAX: usize = 50;
/// Results of a conversation that are examined, the newest ones.
const RESULTS_EXAMINED: u32 = 20;
/// Bytes of results of a conversation that are read, but for the last one.
const RESULT_BYTES_MAX: u64 = 256 * 1024;
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
    let newest = newest(model, tenant, agent).await;
    let newest = newest.map_err(problem::from_problem)?;
    let reads = newest.into_iter().map(|one| results(model, tenant, one.id));
    let results = stream::iter(reads).buffered(SEARCHES_IN_FLIGHT);
    let results: Vec<_> = results.try_collect().await.map_err(problem::from_problem)?;
    let rows = results.into_iter().flat_map(|(id, events)| {
        let rows = events.into_iter().map(move |event| row(&id, event));
        rows.collect::<Vec<_>>()
    });
    let is_of_webhook = |row: &DeliveryRow| webhooks.iter().any(|known| known.tool == row.tool);
    let mut rows: Vec<DeliveryRow> = rows.flatten().filter(is_of_webhook).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.at));
    rows.truncate(DELIVERIES_MAX);
    Ok(rows)
}

async fn newest(
    model: &ReadModel,
    tenant: &TenantAccess,
    agent: AgentId,
) -> Result<Vec<Conversation>, Problem> {
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

async fn results(
    model: &ReadModel,
    tenant: &TenantAccess,
    id: ConversationId,
) -> Result<(ConversationId, Vec<EventRow>), Problem> {
    let query = EventQuery {
        kinds: vec![EventKind::ToolReturned],
        ..EventQuery::latest(RESULTS_EXAMINED, RESULT_BYTES_MAX)
    };
    let events = queries::events(model, tenant, &id, &query);
    let events = Deadline::until(None).rows(events).await?;
    Ok((id, events))
}

/// `None`: the event cannot be read; that is reported where the conversation is read.
fn row(conversation: &ConversationId, event: EventRow) -> Option<DeliveryRow> {
    let decoded = wire::commit::decode_event(event.bytes).ok()?;
    let Fact::ToolReturned(result) = decoded.fact else {
        return None;
    };
    Some(DeliveryRow {
        at: event.recorded_at,
        conversation: conversation.as_str().to_owned(),
        version: event.version,
        outcome: match result.outcome {
            ToolOutcome::Succeeded => "succeeded",
            ToolOutcome::Failed => "failed",
        },
        size_bytes: size(&result),
        tool: result.tool_name?.as_str().to_owned(),
    })
}

/// The bytes of a result.
fn size(result: &ToolReturned) -> u64 {
    let bytes = match &result.output {
        ToolOutput::Json(json) => json.as_str().len(),
        ToolOutput::Parts(parts) => crate::http::body::texts(parts).map(str::len).sum(),
    };
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
