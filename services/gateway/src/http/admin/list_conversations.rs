//! `GET /v1/admin/conversations`: the tenant's conversations.

use axum::extract::State;
use domain::{AgentId, SessionId, Timestamp, UserId, Violation, ViolationReason};
use read_model::queries::ListFilter;
use runtime::http::{HttpProblem, Json, Query};
use serde::Deserialize;
use utoipa::IntoParams;
use wire::status::Problem;

use crate::http::admin_caller::Admin;
use crate::http::body::{StatusName, timestamp};
use crate::http::chats::list_chats::{CHATS_PAGE, ConversationsPage, page};
use crate::http::problem;
use crate::http::state::HttpState;
use crate::listing::Listing;
use crate::request::missing;

/// Which conversations to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ListConversationsQuery {
    /// Only this agent's; absent: the whole tenant's.
    agent_id: Option<String>,
    /// Only this user's; needs `agentId`.
    user_id: Option<String>,
    /// Only this session's; needs `agentId`.
    session_id: Option<String>,
    /// Only those of this status; absent: active and archived ones.
    status: Option<StatusName>,
    /// Only those whose last event is of this time or later; RFC 3339.
    #[param(example = "2026-11-01T00:00:00Z")]
    active_after: Option<String>,
    /// Only those whose last event is earlier than this; RFC 3339.
    #[param(example = "2026-12-01T00:00:00Z")]
    active_before: Option<String>,
    /// Most of them; 0 and absent: 50.
    #[param(maximum = 200)]
    limit: Option<u32>,
    /// `nextCursor` of the page before; absent: the first page.
    cursor: Option<String>,
}

/// The tenant's conversations, the one with the latest event first.
#[utoipa::path(
    get,
    path = "/v1/admin/conversations",
    tag = "admin",
    params(ListConversationsQuery),
    responses((status = 200, description = "A page of them.", body = ConversationsPage)),
    security(("bearer" = []))
)]
pub(in crate::http) async fn list_conversations(
    State(state): State<HttpState>,
    admin: Admin,
    Query(query): Query<ListConversationsQuery>,
) -> Result<Json<ConversationsPage>, HttpProblem> {
    let of = |violation: Violation| problem::of(Problem::from(violation));
    let size = CHATS_PAGE
        .take(query.limit.unwrap_or_default())
        .map_err(of)?;
    let cursor = query.cursor.clone().unwrap_or_default();
    let listing = listing(query).map_err(of)?;
    page(&state, &admin.tenant, &listing, (&cursor, size)).await
}

fn listing(query: ListConversationsQuery) -> Result<Listing, Violation> {
    Ok(Listing {
        filter: filter(query.agent_id, query.user_id, query.session_id)?,
        status: query.status.map(Into::into),
        active_after: time(query.active_after, "activeAfter")?,
        active_before: time(query.active_before, "activeBefore")?,
    })
}

fn filter(
    agent: Option<String>,
    user: Option<String>,
    session: Option<String>,
) -> Result<ListFilter, Violation> {
    let agent = agent.map(AgentId::parse).transpose();
    let agent = agent.map_err(|violation| violation.within("agentId"))?;
    match (agent, user, session) {
        (None, None, None) => Ok(ListFilter::Tenant),
        (None, _, _) => Err(missing().within("agentId")),
        (Some(agent), None, None) => Ok(ListFilter::Agent(agent)),
        (Some(agent), Some(user), None) => {
            let user = UserId::parse(user).map_err(|violation| violation.within("userId"))?;
            Ok(ListFilter::User { agent, user })
        }
        (Some(agent), None, Some(session)) => {
            let session = SessionId::parse(session);
            let session = session.map_err(|violation| violation.within("sessionId"))?;
            Ok(ListFilter::Session { agent, session })
        }
        (Some(_), Some(_), Some(_)) => {
            let rule = "is given beside userId: give one of them";
            Err(Violation::new(ViolationReason::Malformed, rule).within("sessionId"))
        }
    }
}

/// A time among the parameters.
///
/// # Errors
/// It is none.
pub(super) fn time(text: Option<String>, field: &str) -> Result<Option<Timestamp>, Violation> {
    let time = text.map(|text| {
        let rule = "is no time of RFC 3339 from 1677 to 2262: write 2026-11-22T05:00:00Z";
        let broken = || Violation::new(ViolationReason::Malformed, rule).within(field);
        timestamp(&text).ok_or_else(broken)
    });
    time.transpose()
}
