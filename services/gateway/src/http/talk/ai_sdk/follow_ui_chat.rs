//! `GET /api/chat/{id}/stream`: the AI SDK comes back to an answer that is being made.

use axum::extract::State;
use axum::response::Response;
use runtime::http::{HttpProblem, OpenStream, Path};

use crate::http::frontend::{CallerHeaders, Frontend};
use crate::http::owned_chat::asked;
use crate::http::state::HttpState;
use crate::http::talk::follow_chat::{FollowQuery, Wanted, follow};
use crate::http::talk::listener::StreamedEvent;

/// Hear the answer that is being made, as the AI SDK asks.
///
/// The same as `GET /api/chats/{id}/stream`.
#[utoipa::path(
    get,
    path = "/api/chat/{id}/stream",
    tag = "ai-sdk",
    params(
        ("id" = String, Path, description = "The chat."),
        CallerHeaders,
        FollowQuery,
        ("last-event-id" = Option<String>, Header, description = "The id of the event that was heard last: `<run>:<part>`."),
    ),
    responses(
        (status = 200, description = "The answer, as it is made.", body = StreamedEvent, content_type = "text/event-stream"),
        (status = 204, description = "None is being made."),
    ),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn follow_ui_chat(
    State(state): State<HttpState>,
    open: OpenStream,
    frontend: Frontend,
    Path(id): Path<String>,
    wanted: Wanted,
) -> Result<Response, HttpProblem> {
    let chat = asked(&state, &frontend, &id).await?;
    follow(&state, open, &chat, wanted).await
}
