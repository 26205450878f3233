//! `GET /v1/admin/conversations`: the tenant's conversations.

use axum::extract::State;
use domain::{AgentId, ChannelId, Owner, SessionId, Timestamp, UserId, Violation, ViolationReason};
use read_model::queries::ListFilter;
use runtime::http::{HttpProblem, Json, Query};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::chats::list_chats::{CHATS_PAGE, ConversationsPage, page};
use api_json::conversation::StatusName;
use api_json::instant::timestamp;
use conversations::listing::Listing;
use conversations::request::missing;
use http_listener::callers::admin::Admin;
use http_listener::state::HttpState;

/// Which conversations to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ListConversationsQuery {
    /// The agent; absent: the whole tenant.
    agent_id: Option<String>,
    /// The user; needs `agentId`.
    user_id: Option<String>,
    /// The session; needs `agentId`.
    session_id: Option<String>,
    /// The channel, for its keyed histories; needs `agentId`.
    channel_id: Option<String>,
    /// The status; absent: active and archived ones.
    status: Option<StatusName>,
    /// The last event is at this time or later; RFC 3339.
    #[param(example = "2026-11-01T00:00:00Z")]
    active_after: Option<String>,
    /// The last event is before this time; RFC 3339.
    #[param(example = "2026-12-01T00:00:00Z")]
    active_before: Option<String>,
    /// Page size; 0 or absent: 50.
    #[param(maximum = 200)]
    limit: Option<u32>,
    /// `nextCursor` of the previous page; absent: the first page.
    cursor: Option<String>,
}

/// The tenant's conversations, the one with the latest event first.
#[utoipa::path(
    get,
    path = "/v1/admin/conversations",
    tag = "admin",
    params(ListConversationsQuery),
    responses((status = 200, description = "A page.", body = ConversationsPage)),
    security(("bearer" = []))
)]
pub(in crate::http) async fn list_conversations(
    State(state): State<HttpState>,
    admin: Admin,
    Query(query): Query<ListConversationsQuery>,
) -> Result<Json<ConversationsPage>, HttpProblem> {
    let size = CHATS_PAGE.take(query.limit.unwrap_or_default())?;
    let cursor = query.cursor.clone().unwrap_or_default();
    let listing = listing(query)?;
    page(&state, &admin.tenant, &listing, &cursor, size).await
}

fn listing(query: ListConversationsQuery) -> Result<Listing, Violation> {
    let owner = owner(query.user_id, query.session_id, query.channel_id)?;
    Ok(Listing {
        filter: filter(query.agent_id, owner)?,
        status: query.status.map(Into::into),
        active_after: time(query.active_after, "activeAfter")?,
        active_before: time(query.active_before, "activeBefore")?,
    })
}

fn filter(agent: Option<String>, owner: Option<Owner>) -> Result<ListFilter, Violation> {
    let agent = agent.map(AgentId::parse).transpose().map_err(|violation| violation.within("agentId"))?;
    match (agent, owner) {
        (None, None) => Ok(ListFilter::Tenant),
        (None, Some(_)) => Err(missing().within("agentId")),
        (Some(agent), None) => Ok(ListFilter::Agent(agent)),
        (Some(agent), Some(owner)) => Ok(ListFilter::of(agent, owner)),
    }
}

/// The owner that one of the parameters names.
fn owner(user: Option<String>, session: Option<String>, channel: Option<String>) -> Result<Option<Owner>, Violation> {
    let user = user.map(|id| UserId::parse(id).map(Owner::User));
    let session = session.map(|id| SessionId::parse(id).map(Owner::Session));
    let channel = channel.map(|id| ChannelId::parse(id).map(Owner::Channel));
    let mut named = [("userId", user), ("sessionId", session), ("channelId", channel)]
        .into_iter()
        .filter_map(|(field, owner)| Some((field, owner?)));
    let first = named.next();
    if let (Some((first, _)), Some((second, _))) = (&first, named.next()) {
        let rule = format!("is given together with {first}: send one of them");
        return Err(Violation::new(ViolationReason::Malformed, rule).within(second));
    }
    let owner = first.map(|(field, owner)| owner.map_err(|violation| violation.within(field)));
    owner.transpose()
}

/// A time in a parameter.
///
/// # Errors
/// It is invalid.
pub(in crate::http) fn time(text: Option<String>, field: &str) -> Result<Option<Timestamp>, Violation> {
    let time = text.map(|text| {
        let rule = "is no time of RFC 3339 from 1677 to 2262: write 2026-11-22T05:00:00Z";
        let broken = || Violation::new(ViolationReason::Malformed, rule).within(field);
        timestamp(&text).ok_or_else(broken)
    });
    time.transpose()
}
