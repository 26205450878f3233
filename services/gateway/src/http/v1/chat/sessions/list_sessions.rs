//! `GET /v1/chat/sessions`: the caller's sessions.

use axum::extract::State;
use read_model::queries::ListFilter;
use runtime::http::{HttpProblem, Json, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::http::chats::list_chats::{CHATS_PAGE, page};
use api_json::conversation::ConversationBody;
use conversations::listing::Listing;
use conversations::names::names;
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::CallerHeaders;
use http_listener::state::HttpState;

/// Which sessions to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListSessionsQuery {
    /// Page size; 0 or absent: 50.
    #[param(maximum = 200)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page; absent: the first page.
    cursor: Option<String>,
}

/// A page of sessions.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionsPage {
    /// The sessions, the one with the latest event first; `id` is the `session_id`.
    sessions: Vec<ConversationBody>,
    /// The cursor of the next page; absent: this is the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// The caller's sessions.
///
/// A user's sessions are listed only with the user's token. A session that was just created may be missing for a
/// moment.
#[utoipa::path(
    get,
    path = "/v1/chat/sessions",
    tag = "chat",
    params(CallerHeaders, ListSessionsQuery),
    responses((status = 200, description = "A page.", body = SessionsPage)),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn list_sessions(
    State(state): State<HttpState>,
    frontend: Frontend,
    Query(query): Query<ListSessionsQuery>,
) -> Result<Json<SessionsPage>, HttpProblem> {
    let size = CHATS_PAGE.take(query.limit.unwrap_or_default())?;
    let caller = frontend.listing_caller(&state).await?;
    let names = names(&state, &caller.access, &caller.owner)?;
    let agent = caller.access.agent.clone();
    let listing = Listing::of(ListFilter::of(agent, caller.owner));
    let cursor = query.cursor.unwrap_or_default();
    let Json(page) = page(&state, &caller.access.tenant, &listing, &cursor, size).await?;
    let page = page.named(&names);
    Ok(Json(SessionsPage { sessions: page.conversations, next_cursor: page.next_cursor }))
}
