//! `POST /api/chat/{id}/stop`: stops the active run, for the AI SDK.

use axum::extract::State;
use axum::response::Response;
use runtime::http::{HttpProblem, Path};

use crate::http::chats::stop_chat::{StoppedBody, stop_chat};
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::CallerHeaders;
use http_listener::state::HttpState;

/// Stop the active run, for the AI SDK.
///
/// The same as `POST /api/chats/{id}/stop`.
#[utoipa::path(
    post,
    path = "/api/chat/{id}/stop",
    tag = "ai-sdk",
    params(("id" = String, Path, description = "The chat."), CallerHeaders),
    responses(
        (status = 202, description = "The run stops within a second.", body = StoppedBody),
        (status = 204, description = "No run is active."),
    ),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn stop_ui_chat(
    state: State<HttpState>,
    frontend: Frontend,
    id: Path<String>,
) -> Result<Response, HttpProblem> {
    stop_chat(state, frontend, id).await
}
