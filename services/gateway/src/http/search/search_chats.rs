//! `GET /api/search`: searches the caller's conversations.

use axum::extract::State;
use runtime::http::{HttpProblem, Json, Query};

use super::{SearchCaller, SearchParams, SearchResultsBody, page};
use conversations::names::names;
use conversations::search::{SearchAgents, SearchAudience};
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::CallerHeaders;
use http_listener::state::HttpState;

/// Search the caller's conversations.
///
/// Finds titles, and messages of the roles user and assistant, in the conversations that `GET /api/chats` lists: at most the 1,000
/// with the latest events. Rewound messages are not found. What was just recorded may be missing for a moment, unless the request
/// has its `x-position-token`.
#[utoipa::path(
    get,
    path = "/api/search",
    tag = "chats",
    params(CallerHeaders, SearchParams),
    responses((status = 200, description = "A page.", body = SearchResultsBody)),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn search_chats(
    State(state): State<HttpState>,
    frontend: Frontend,
    Query(params): Query<SearchParams>,
) -> Result<Json<SearchResultsBody>, HttpProblem> {
    let listing = frontend.listing_caller(&state).await?;
    let names = names(&state, &listing.access, &listing.owner)?;
    let caller = SearchCaller {
        access: listing.access.tenant,
        agents: SearchAgents::Only(vec![listing.access.agent]),
        owner: Some(listing.owner),
        audience: SearchAudience::Visitor,
    };
    let Json(page) = page(&state, caller, &params).await?;
    Ok(Json(page.named(&names)))
}
