//! `GET /api/chats`: the caller's conversations.

use axum::extract::State;
use read_model::queries::ListFilter;
use runtime::http::{HttpProblem, Json, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use api_json::conversation::{ConversationBody, StatusName};
use conversations::listing::{Listing, Paging};
use conversations::names::{Names, names};
use conversations::positions::{self, catch_up};
use conversations::request::BoundedNumber;
use history::Deadline;
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::CallerHeaders;
use http_listener::state::HttpState;

/// Page size.
pub const CHATS_PAGE: BoundedNumber = BoundedNumber { field: "limit", default: 50, max: 200 };

/// Which conversations to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ListChatsQuery {
    /// The status; absent: active and archived ones.
    status: Option<StatusName>,
    /// Page size; 0 or absent: 50.
    #[param(maximum = 200)]
    limit: Option<u32>,
    /// `nextCursor` of the previous page; absent: the first page.
    cursor: Option<String>,
}

/// A page of conversations.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationsPage {
    /// The conversations, the one with the latest event first.
    pub conversations: Vec<ConversationBody>,
    /// The cursor of the next page; absent: this is the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// The caller's conversations.
///
/// The conversations of the token's user, or those of the session. A user's conversations are listed only with the
/// user's token. A conversation that was just created or changed may be missing for a moment, unless the request has
/// its `x-position-token`; `GET /api/chats/{id}` returns it immediately.
#[utoipa::path(
    get,
    path = "/api/chats",
    tag = "chats",
    params(CallerHeaders, ListChatsQuery),
    responses((status = 200, description = "A page.", body = ConversationsPage)),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn list_chats(
    State(state): State<HttpState>,
    frontend: Frontend,
    Query(query): Query<ListChatsQuery>,
) -> Result<Json<ConversationsPage>, HttpProblem> {
    let size = CHATS_PAGE.take(query.limit.unwrap_or_default())?;
    let caller = frontend.listing_caller(&state).await?;
    let names = names(&state, &caller.access, &caller.owner)?;
    let agent = caller.access.agent.clone();
    let filter = ListFilter::of(agent, caller.owner);
    let listing = Listing { status: query.status.map(Into::into), ..Listing::of(filter) };
    let cursor = query.cursor.unwrap_or_default();
    let Json(page) = page(&state, &caller.access.tenant, &listing, &cursor, size).await?;
    Ok(Json(page.named(&names)))
}

impl ConversationsPage {
    /// As the owner of these names reads it.
    #[must_use]
    pub fn named(self, names: &Names) -> Self {
        let conversations = self.conversations.into_iter();
        Self {
            conversations: conversations.map(|conversation| conversation.named(|id| names.shown(id))).collect(),
            ..self
        }
    }
}

/// A page of a listing, from rows that include the positions that the request has sent; `paging`: cursor and size.
///
/// # Errors
/// The cursor is invalid or of another query; the rows do not answer.
pub(in crate::http) async fn page(
    state: &HttpState,
    access: &domain::TenantAccess,
    listing: &Listing,
    token: &str,
    size: u32,
) -> Result<Json<ConversationsPage>, HttpProblem> {
    let rows = catch_up::rows_at(&state.gateway, access.tenant(), &positions::fences()).await?;
    let paging = Paging { token, size, deadline: Deadline::until(None) };
    let page = listing
        .page(&rows, access, paging, |conversation| {
            let body = ConversationBody::from(&conversation);
            let bytes = serde_json::to_vec(&body).map_or(0, |json| json.len());
            (body, bytes)
        })
        .await
        .map_err(|error| named(HttpProblem::from(error)))?;
    Ok(Json(ConversationsPage { conversations: page.conversations, next_cursor: page.next }))
}

/// Callers know the page token as `cursor`.
#[must_use]
pub(in crate::http) fn named(problem: HttpProblem) -> HttpProblem {
    if problem.field.as_deref() != Some("page_token") {
        return problem;
    }
    let detail = "cursor is not of this listing: send nextCursor unchanged, and change only limit";
    HttpProblem { field: Some("cursor".to_owned()), detail: detail.to_owned(), ..problem }
}
