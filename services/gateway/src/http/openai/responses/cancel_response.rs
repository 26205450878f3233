//! `POST /openai/v1/responses/{id}/cancel`: stops the model of a response.

use axum::extract::State;
use openai_api::responses::object::ResponseObject;
use registry::Scope;
use runtime::http::{HttpProblem, Json, Path};

use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use crate::http::openai::responses::recorded::RecordedResponse;
use http_listener::state::HttpState;

/// Cancel a response.
///
/// The output so far is recorded. A response that has ended does not change.
#[utoipa::path(
    post,
    path = "/openai/v1/responses/{id}/cancel",
    tag = "openai",
    params(("id" = String, Path, description = "The response."), OpenAiHeaders),
    responses((status = 200, description = "The response.", body = ResponseObject)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn cancel_response(
    State(state): State<HttpState>,
    caller: OpenAiCaller,
    Path(id): Path<String>,
) -> Result<Json<ResponseObject>, HttpProblem> {
    let found = RecordedResponse::find(&state, &caller, &id).await?;
    let agent = found.target.access.agent.as_str();
    caller.service.access(&state, Scope::Append, Some(agent)).await?;
    if found.end.is_some() {
        return found.object().map(Json);
    }
    state.stop(&found.target, found.id.run).await?;
    state.wait_for_finish(&found.target.key, found.id.run).await;
    let found = RecordedResponse::find(&state, &caller, &id).await?;
    found.object().map(Json)
}
