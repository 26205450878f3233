//! `POST /api/chats/{id}/stop`: stops the active run.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use runtime::http::{HttpProblem, Json, Path};
use serde::Serialize;
use utoipa::ToSchema;

use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::CallerHeaders;
use http_listener::state::HttpState;
use wire::status::Reason;

/// The run that stops.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoppedBody {
    /// The run.
    #[schema(example = "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11")]
    run_id: String,
}

/// Stop the active run.
///
/// The run stops within a second, on any gateway; what it has answered so far is kept. Closing the page does not stop a
/// run.
#[utoipa::path(
    post,
    path = "/api/chats/{id}/stop",
    tag = "chats",
    params(("id" = String, Path, description = "The conversation."), CallerHeaders),
    responses(
        (status = 202, description = "The run stops within a second.", body = StoppedBody),
        (status = 204, description = "No run is active."),
    ),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn stop_chat(
    State(state): State<HttpState>,
    frontend: Frontend,
    Path(id): Path<String>,
) -> Result<Response, HttpProblem> {
    let chat = frontend.chat(&state, &id).await?;
    let Some(active) = chat.conversation.head.active_run else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    match state.stop(&chat.target, active.id).await {
        Ok(()) => {
            let body = StoppedBody { run_id: active.id.to_string() };
            Ok((StatusCode::ACCEPTED, Json(body)).into_response())
        }
        // The run has finished meanwhile.
        Err(problem) if problem.reason() == Reason::RunNotActive => Ok(StatusCode::NO_CONTENT.into_response()),
        Err(problem) => Err(problem.into()),
    }
}
