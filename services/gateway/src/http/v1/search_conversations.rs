//! `GET /v1/search`: searches the conversations of a back end's agents.

use axum::extract::State;
use domain::AgentId;
use registry::Scope;
use runtime::http::{HttpProblem, Json, Query};

use crate::http::search::{SearchCaller, SearchParams, SearchResultsBody, page};
use conversations::search::{SearchAgents, SearchAudience};
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::state::HttpState;

/// Search the conversations of the token's agents.
///
/// Finds titles, messages, tool calls and tool results. With the header `x-agent-id`, only in conversations of that agent. What was
/// just recorded may be missing for a moment, unless the request has its `x-position-token`.
#[utoipa::path(
    get,
    path = "/v1/search",
    tag = "conversations",
    params(ServiceHeaders, SearchParams),
    responses((status = 200, description = "A page.", body = SearchResultsBody)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn search_conversations(
    State(state): State<HttpState>,
    service: Service,
    Query(params): Query<SearchParams>,
) -> Result<Json<SearchResultsBody>, HttpProblem> {
    let caller = caller(&state, &service).await?;
    page(&state, caller, &params).await
}

/// What a service token may search.
///
/// # Errors
/// 400 if the token is of all tenants and the request names no agent; 403 without the scope `read`; 404 for a missing agent and for
/// a foreign one.
pub(in crate::http) async fn caller(state: &HttpState, service: &Service) -> Result<SearchCaller, HttpProblem> {
    let agents = service.agents(state).await?;
    let first = agents.first().map(|agent| agent.agent_id.as_str());
    let access = service.access(state, Scope::Read, first).await?;
    service.record_listing(state, access.tenant.tenant(), "search")?;
    let ids = agents.into_iter().filter_map(|agent| AgentId::parse(agent.agent_id).ok());
    Ok(SearchCaller {
        access: access.tenant,
        agents: match service.tenant_without_agent() {
            Some(_) => SearchAgents::Tenant,
            None => SearchAgents::Only(ids.collect()),
        },
        owner: None,
        audience: SearchAudience::Staff,
    })
}
