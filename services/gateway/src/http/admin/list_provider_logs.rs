//! `GET /v1/admin/provider-logs`: what model servers were asked, where the agents' settings have it kept.

use axum::extract::State;
use domain::{AgentId, ConversationId, Label, LogId, TenantAccess, Timestamp, Violation};
use read_model::queries::{self, ProviderLogCursor, ProviderLogQuery};
use runtime::http::{HttpProblem, Json, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;
use wire::status::Problem;

use super::list_conversations::time;
use crate::http::admin_caller::Admin;
use crate::http::body::ProviderLogBody;
use crate::http::chats::list_chats::named;
use crate::http::problem;
use crate::http::state::HttpState;
use crate::page_token::{self, QueryHash, take_number};
use crate::problem::page_token_invalid;
use crate::request::Bounded;
use history::Deadline;

/// Calls of a page.
pub const PROVIDER_LOGS_PAGE: Bounded = Bounded {
    field: "limit",
    default: 50,
    max: 200,
};

/// Which calls to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ListProviderLogsQuery {
    /// Only this agent's.
    agent_id: Option<String>,
    /// Only this conversation's.
    conversation_id: Option<String>,
    /// Only those that ended so: `finished`, `dropped`, or a failure's name such as `model_unavailable`.
    #[param(max_length = 256)]
    outcome: Option<String>,
    /// Only those that began then or later; RFC 3339.
    #[param(example = "2026-11-01T00:00:00Z")]
    started_after: Option<String>,
    /// Only those that began earlier than this; RFC 3339.
    #[param(example = "2026-12-01T00:00:00Z")]
    started_before: Option<String>,
    /// Most of them; 0 and absent: 50.
    #[param(maximum = 200)]
    limit: Option<u32>,
    /// `nextCursor` of the page before; absent: the first page.
    cursor: Option<String>,
}

/// A page of calls.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderLogsPage {
    /// The calls, the one that began last first, without what was said.
    logs: Vec<ProviderLogBody>,
    /// Where the next page begins; absent: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// The logged calls of the tenant's model servers, the latest first.
///
/// Nothing is logged unless an agent's settings say so (`providerLogs`). A call shows here a moment after its end.
#[utoipa::path(
    get,
    path = "/v1/admin/provider-logs",
    tag = "admin",
    params(ListProviderLogsQuery),
    responses((status = 200, description = "A page of them.", body = ProviderLogsPage)),
    security(("bearer" = []))
)]
pub(in crate::http) async fn list_provider_logs(
    State(state): State<HttpState>,
    admin: Admin,
    Query(query): Query<ListProviderLogsQuery>,
) -> Result<Json<ProviderLogsPage>, HttpProblem> {
    let of = |violation: Violation| problem::of(Problem::from(violation));
    let size = PROVIDER_LOGS_PAGE.take(query.limit.unwrap_or_default());
    let size = size.map_err(of)?;
    let cursor = query.cursor.clone().unwrap_or_default();
    let mut asked = asked(query).map_err(of)?;
    let hash = hash(&admin.tenant, &asked);
    asked.after = after(&cursor, hash).map_err(|error| named(problem::of(error)))?;
    asked.limit = size.saturating_add(1);
    let found = queries::provider_logs(&state.gateway.reader.read_model, &admin.tenant, &asked);
    let found = Deadline::until(None).rows(found).await;
    let mut found = found.map_err(problem::of)?;
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let has_more = found.len() > size;
    found.truncate(size);
    let last = found.last().filter(|_| has_more);
    Ok(Json(ProviderLogsPage {
        next_cursor: last.map(|last| token(hash, last.call.started_at, last.call.id)),
        logs: found.iter().map(ProviderLogBody::from).collect(),
    }))
}

fn asked(query: ListProviderLogsQuery) -> Result<ProviderLogQuery, Violation> {
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

fn hash(access: &TenantAccess, asked: &ProviderLogQuery) -> QueryHash {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let bound = |time: Option<Timestamp>| {
        let time = time.map(|time| time.0.to_be_bytes().to_vec());
        time.unwrap_or_default()
    };
    QueryHash::of(&[
        b"provider logs",
        access.tenant().as_str().as_bytes(),
        text(asked.agent.as_ref().map(AgentId::as_str)).as_bytes(),
        text(asked.conversation.as_ref().map(ConversationId::as_str)).as_bytes(),
        text(asked.outcome.as_ref().map(Label::as_str)).as_bytes(),
        &bound(asked.started_after),
        &bound(asked.started_before),
    ])
}

fn token(hash: QueryHash, started_at: Timestamp, id: LogId) -> String {
    let mut cursor = started_at.0.to_be_bytes().to_vec();
    cursor.extend_from_slice(id.0.as_bytes());
    page_token::encode(hash, &cursor)
}

fn after(token: &str, hash: QueryHash) -> Result<Option<ProviderLogCursor>, Problem> {
    let Some(bytes) = page_token::decode(token, hash)? else {
        return Ok(None);
    };
    let read = || {
        let (started_at, id) = take_number(&bytes)?;
        Some(ProviderLogCursor {
            started_at: Timestamp(started_at.cast_signed()),
            id: LogId(Uuid::from_slice(id).ok()?),
        })
    };
    read().map(Some).ok_or_else(page_token_invalid)
}
