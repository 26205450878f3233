//! `GET /v1/admin/provider-logs`: logged calls of model servers, if the agents' settings enable logs.

use axum::extract::State;
use domain::{AgentId, ConversationId, Label, LogId, TenantAccess, Timestamp, Violation};
use read_model::queries::{self, ProviderLogCursor, ProviderLogQuery};
use runtime::http::{HttpProblem, Json, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::body;
use crate::http::chats::list_chats::named;
use crate::http::v1::admin::conversations::list_conversations::time;
use api_json::provider_log::ProviderLogBody;
use conversations::page_token::{self, QueryHash, take_number};
use conversations::request::BoundedNumber;
use history::Deadline;
use http_listener::callers::admin::Admin;
use http_listener::state::HttpState;

/// Page size.
pub const PROVIDER_LOGS_PAGE: BoundedNumber = BoundedNumber { field: "limit", default: 50, max: 200 };

/// Which calls to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ListProviderLogsQuery {
    /// The agent.
    agent_id: Option<String>,
    /// The conversation.
    conversation_id: Option<String>,
    /// The outcome: `finished`, `dropped`, or a failure's name such as `model_unavailable`.
    #[param(max_length = 256)]
    outcome: Option<String>,
    /// The call started at this time or later; RFC 3339.
    #[param(example = "2026-11-01T00:00:00Z")]
    started_after: Option<String>,
    /// The call started before this time; RFC 3339.
    #[param(example = "2026-12-01T00:00:00Z")]
    started_before: Option<String>,
    /// Page size; 0 or absent: 50.
    #[param(maximum = 200)]
    limit: Option<u32>,
    /// `nextCursor` of the previous page; absent: the first page.
    cursor: Option<String>,
}

/// A page of calls.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderLogsPage {
    /// The calls, the latest first, without bodies.
    logs: Vec<ProviderLogBody>,
    /// The cursor of the next page; absent: this is the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// The logged calls of model servers, the latest first.
///
/// Calls are logged only if an agent's settings enable it (`providerLogs`). A call is listed a moment after its end.
#[utoipa::path(
    get,
    path = "/v1/admin/provider-logs",
    tag = "admin",
    params(ListProviderLogsQuery),
    responses((status = 200, description = "A page.", body = ProviderLogsPage)),
    security(("bearer" = []))
)]
pub(in crate::http) async fn list_provider_logs(
    State(state): State<HttpState>,
    admin: Admin,
    Query(query): Query<ListProviderLogsQuery>,
) -> Result<Json<ProviderLogsPage>, HttpProblem> {
    let size = PROVIDER_LOGS_PAGE.take(query.limit.unwrap_or_default())?;
    let cursor = query.cursor.clone().unwrap_or_default();
    let mut query = parse(query)?;
    let hash = hash(&admin.tenant, &query);
    let after = page_token::cursor(&cursor, hash, read_cursor);
    query.after = after.map_err(|error| named(HttpProblem::from(error)))?;
    query.limit = size.saturating_add(1);
    let mut found = Deadline::until(None)
        .rows(queries::provider_logs(&state.gateway.reader.read_model, &admin.tenant, &query))
        .await?;
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let has_more = found.len() > size;
    found.truncate(size);
    let last = found.last().filter(|_| has_more);
    Ok(Json(ProviderLogsPage {
        next_cursor: last.map(|last| token(hash, last.call.started_at, last.call.id)),
        logs: found.iter().map(body).collect(),
    }))
}

fn parse(query: ListProviderLogsQuery) -> Result<ProviderLogQuery, Violation> {
    let within = |field: &'static str| move |violation: Violation| violation.within(field);
    let agent = query.agent_id.map(AgentId::parse).transpose();
    let conversation = query.conversation_id.map(ConversationId::parse).transpose();
    let outcome = query.outcome.map(Label::parse).transpose();
    Ok(ProviderLogQuery {
        agent: agent.map_err(within("agentId"))?,
        conversation: conversation.map_err(within("conversationId"))?,
        outcome: outcome.map_err(within("outcome"))?,
        started_after: time(query.started_after, "startedAfter")?,
        started_before: time(query.started_before, "startedBefore")?,
        after: None,
        limit: 0,
    })
}

fn hash(access: &TenantAccess, query: &ProviderLogQuery) -> QueryHash {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let bound = |time: Option<Timestamp>| time.map(|time| time.0.to_be_bytes().to_vec()).unwrap_or_default();
    QueryHash::of(&[
        b"provider logs",
        access.tenant().as_str().as_bytes(),
        text(query.agent.as_ref().map(AgentId::as_str)).as_bytes(),
        text(query.conversation.as_ref().map(ConversationId::as_str)).as_bytes(),
        text(query.outcome.as_ref().map(Label::as_str)).as_bytes(),
        &bound(query.started_after),
        &bound(query.started_before),
    ])
}

fn token(hash: QueryHash, started_at: Timestamp, id: LogId) -> String {
    let mut cursor = started_at.0.to_be_bytes().to_vec();
    cursor.extend_from_slice(id.0.as_bytes());
    page_token::encode(hash, &cursor)
}

fn read_cursor(bytes: &[u8]) -> Option<ProviderLogCursor> {
    let (started_at, id) = take_number(bytes)?;
    Some(ProviderLogCursor { started_at: Timestamp(started_at.cast_signed()), id: LogId(Uuid::from_slice(id).ok()?) })
}
