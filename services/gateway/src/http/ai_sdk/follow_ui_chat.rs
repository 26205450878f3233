//! `GET /api/chat/{id}/stream`: resumes the stream of the active run, for the AI SDK.

use axum::extract::State;
use axum::response::Response;
use runtime::http::{HttpProblem, Path, StreamSlot};

use crate::http::chats::follow_chat::{FollowQuery, FollowRequest, follow_chat};
use crate::http::turns::ui_answer::StreamedEvent;
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::CallerHeaders;
use http_listener::state::HttpState;

/// Stream the active run, for the AI SDK.
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
        ("last-event-id" = Option<String>, Header, description = "The id of the last event that was received: `<run>:<part>`."),
    ),
    responses(
        (status = 200, description = "The stream.", body = StreamedEvent, content_type = "text/event-stream"),
        (status = 204, description = "No run is active."),
    ),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn follow_ui_chat(
    state: State<HttpState>,
    open: StreamSlot,
    frontend: Frontend,
    id: Path<String>,
    request: FollowRequest,
) -> Result<Response, HttpProblem> {
    follow_chat(state, open, frontend, id, request).await
}
