//! `GET /openai/v1/models/{id}`: one agent, as a model.

use axum::extract::State;
use runtime::http::{HttpProblem, Json, Path};

use super::ModelBody;
use crate::http::openai::caller::{OpenAiCaller, model_not_found};
use crate::http::openai::requested_model::split;
use http_listener::state::HttpState;

/// Get an agent that the key may act for, as a model.
#[utoipa::path(
    get,
    path = "/openai/v1/models/{id}",
    tag = "openai",
    params(("id" = String, Path, description = "The agent, or `agent%2Fmodel`.")),
    responses((status = 200, description = "The model.", body = ModelBody)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn get_model(
    State(state): State<HttpState>,
    caller: OpenAiCaller,
    Path(id): Path<String>,
) -> Result<Json<ModelBody>, HttpProblem> {
    let (agent, _) = split(&id);
    let agent = caller.service.agent_by_id(&state, agent).await.ok_or_else(model_not_found)?;
    let found = ModelBody::of_agent(agent).find(|model| model.id == id);
    found.map(Json).ok_or_else(model_not_found)
}
