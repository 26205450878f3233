//! `POST /api/chat/{id}/stop`: the AI SDK stops the answer that is being made.

use axum::extract::State;
use axum::response::Response;
use runtime::http::{HttpProblem, Path};

use crate::http::frontend::{CallerHeaders, Frontend};
use crate::http::owned_chat::asked;
use crate::http::state::HttpState;
use crate::http::talk::stop_chat::{StoppedBody, stop};

/// Stop the answer that is being made, as the AI SDK asks.
///
/// The same as `POST /api/chats/{id}/stop`.
#[utoipa::path(
    post,
    path = "/api/chat/{id}/stop",
    tag = "ai-sdk",
    params(("id" = String, Path, description = "The chat."), CallerHeaders),
    responses(
        (status = 202, description = "It ends within a second.", body = StoppedBody),
        (status = 204, description = "None is being made."),
    ),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn stop_ui_chat(
    State(state): State<HttpState>,
    frontend: Frontend,
    Path(id): Path<String>,
) -> Result<Response, HttpProblem> {
    let chat = asked(&state, &frontend, &id).await?;
    stop(&state, &chat).await
}
