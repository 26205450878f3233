//! `GET /v1/admin/search`: searches the tenant's conversations.

use axum::extract::State;
use runtime::http::{HttpProblem, Json, Query};

use crate::http::search::{SearchCaller, SearchParams, SearchResultsBody, page};
use conversations::search::{SearchAgents, SearchAudience};
use http_listener::callers::admin::Admin;
use http_listener::state::HttpState;

/// Search the tenant's conversations.
///
/// Finds titles, messages, tool calls and tool results.
#[utoipa::path(
    get,
    path = "/v1/admin/search",
    tag = "admin",
    params(SearchParams),
    responses((status = 200, description = "A page.", body = SearchResultsBody)),
    security(("bearer" = []))
)]
pub(in crate::http) async fn search_tenant(
    State(state): State<HttpState>,
    admin: Admin,
    Query(params): Query<SearchParams>,
) -> Result<Json<SearchResultsBody>, HttpProblem> {
    let caller = SearchCaller {
        access: admin.tenant,
        agents: SearchAgents::Tenant,
        owner: None,
        audience: SearchAudience::Staff,
    };
    page(&state, caller, &params).await
}
