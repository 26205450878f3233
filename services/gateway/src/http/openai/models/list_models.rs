//! `GET /openai/v1/models`: the agents that the key may act for.

use axum::extract::State;
use runtime::http::{HttpProblem, Json};
use serde::Serialize;
use utoipa::ToSchema;

use super::ModelBody;
use crate::http::openai::caller::OpenAiCaller;
use http_listener::state::HttpState;

/// The models.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelsBody {
    /// Always `list`.
    object: &'static str,
    /// By agent; its own model first.
    data: Vec<ModelBody>,
}

/// List the agents that the key may act for, as models.
///
/// A key of all tenants must name an agent in the header `x-agent-id`, and gets this one.
#[utoipa::path(
    get,
    path = "/openai/v1/models",
    tag = "openai",
    params(("x-agent-id" = Option<String>, Header, description = "Only this agent.")),
    responses((status = 200, description = "The models.", body = ModelsBody)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn list_models(
    State(state): State<HttpState>,
    caller: OpenAiCaller,
) -> Result<Json<ModelsBody>, HttpProblem> {
    let agents = caller.service.agents(&state).await?;
    Ok(Json(ModelsBody { object: "list", data: agents.into_iter().flat_map(ModelBody::of_agent).collect() }))
}
