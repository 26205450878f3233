//! `GET /api/chats`: the caller's conversations.

use axum::extract::State;
use read_model::queries::ListFilter;
use runtime::http::{HttpProblem, Json, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use wire::status::Problem;

use crate::http::body::{ConversationBody, StatusName};
use crate::http::frontend::{CallerHeaders, Frontend};
use crate::http::state::HttpState;
use crate::http::{catch_up, positions, problem};
use crate::listing::{Listing, Paging};
use crate::request::Bounded;
use history::Deadline;

/// Conversations of a page.
pub const CHATS_PAGE: Bounded = Bounded {
    field: "limit",
    default: 50,
    max: 200,
};

/// Which conversations to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ListChatsQuery {
    /// Only those of this status; absent: active and archived ones.
    status: Option<StatusName>,
    /// Most of them; 0 and absent: 50.
    #[param(maximum = 200)]
    limit: Option<u32>,
    /// `nextCursor` of the page before; absent: the first page.
    cursor: Option<String>,
}

/// A page of conversations.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationsPage {
    /// The conversations, the one with the latest event first.
    pub conversations: Vec<ConversationBody>,
    /// Where the next page begins; absent: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// The caller's conversations.
///
/// Those of the user whom the token names, else those of the session. A
/// user's conversations are listed under the user's token alone. One that was just begun or changed may take a moment to
/// show here, unless its `x-position-token` is given; `GET /api/chats/{id}` knows it at once.
#[utoipa::path(
    get,
    path = "/api/chats",
    tag = "chats",
    params(CallerHeaders, ListChatsQuery),
    responses((status = 200, description = "A page of them.", body = ConversationsPage)),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn list_chats(
    State(state): State<HttpState>,
    frontend: Frontend,
    Query(query): Query<ListChatsQuery>,
) -> Result<Json<ConversationsPage>, HttpProblem> {
    let size = CHATS_PAGE.take(query.limit.unwrap_or_default());
    let size = size.map_err(|violation| problem::of(Problem::from(violation)))?;
    let caller = frontend.lister(&state).await?;
    let agent = caller.access.agent.clone();
    let filter = ListFilter::of(agent, caller.owner);
    let listing = Listing {
        status: query.status.map(Into::into),
        ..Listing::of(filter)
    };
    let cursor = query.cursor.unwrap_or_default();
    page(&state, &caller.access.tenant, &listing, &cursor, size).await
}

/// A page of a listing, once the rows hold the positions that the request gives; `paging`: its cursor, and the most that it holds.
///
/// # Errors
/// The cursor is none, or of another query; the rows do not answer.
pub(in crate::http) async fn page(
    state: &HttpState,
    access: &domain::TenantAccess,
    listing: &Listing,
    token: &str,
    size: u32,
) -> Result<Json<ConversationsPage>, HttpProblem> {
    let held = catch_up::hold(&state.gateway, &positions::fences()).await;
    held.map_err(problem::of)?;
    let paging = Paging {
        token,
        size,
        deadline: Deadline::until(None),
    };
    let page = listing.page(&state.gateway, access, paging, |conversation| {
        let body = ConversationBody::from(&conversation);
        let bytes = serde_json::to_vec(&body).map_or(0, |json| json.len());
        (body, bytes)
    });
    let page = page.await.map_err(|error| named(problem::of(error)))?;
    Ok(Json(ConversationsPage {
        conversations: page.conversations,
        next_cursor: page.next,
    }))
}

/// A token of a page is a cursor here.
#[must_use]
pub(in crate::http) fn named(problem: HttpProblem) -> HttpProblem {
    if problem.field.as_deref() != Some("page_token") {
        return problem;
    }
    let detail = "cursor is not one of this listing: pass on nextCursor as it was given, and change nothing but limit";
    HttpProblem {
        field: Some("cursor".to_owned()),
        detail: detail.to_owned(),
        ..problem
    }
}
