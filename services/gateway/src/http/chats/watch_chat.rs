//! `GET /api/chats/{id}/events`: the events of a conversation, live.

use axum::extract::State;
use axum::response::Response;
use runtime::http::{HttpProblem, Path, StreamSlot};

use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::CallerHeaders;
use http_listener::live::{self, LiveEvent, LiveQuery, LiveRequest, Viewed};
use http_listener::state::HttpState;

/// Stream the events of a conversation.
///
/// First the events after `after`, then the event `caught-up`, then each new event when it is recorded. Events
/// of all callers are streamed: a second tab shows what the first one sends. Each event comes once, in the order of
/// versions; documents, and calls that the agent's settings hide, are left out. The answer of an active run is recorded at the end of each step: `GET /api/chats/{id}/stream` streams its
/// parts. The last event is `end`, with a code: `STREAM_TOO_OLD`, `CLIENT_TOO_SLOW`, `DRAINING`, `CONVERSATION_ERASED`, `CONVERSATION_NOT_FOUND` if
/// the owner changed, or that of an error.
#[utoipa::path(
    get,
    path = "/api/chats/{id}/events",
    tag = "chats",
    params(
        ("id" = String, Path, description = "The conversation."),
        CallerHeaders,
        LiveQuery,
        ("last-event-id" = Option<String>, Header, description = "The id of the last event that was received: its version."),
    ),
    responses((status = 200, description = "The stream.", body = LiveEvent, content_type = "text/event-stream")),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn watch_chat(
    State(state): State<HttpState>,
    open: StreamSlot,
    frontend: Frontend,
    Path(id): Path<String>,
    request: LiveRequest,
) -> Result<Response, HttpProblem> {
    let chat = frontend.chat(&state, &id).await?;
    let viewed = Viewed::of_owner(&state, chat);
    live::respond(&state, open, request, viewed).await
}
