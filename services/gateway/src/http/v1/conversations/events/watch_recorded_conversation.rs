//! `GET /v1/conversations/{id}/events/stream`: the events of a conversation, live.

use axum::extract::State;
use axum::response::Response;
use runtime::http::{HttpProblem, Path, StreamSlot};

use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::live::{self, LiveEvent, LiveQuery, LiveRequest};
use http_listener::state::HttpState;

/// Stream the events of a conversation.
///
/// As `GET /api/chats/{id}/events`, for back ends.
#[utoipa::path(
    get,
    path = "/v1/conversations/{id}/events/stream",
    tag = "conversations",
    params(
        ("id" = String, Path, description = "The conversation."),
        ServiceHeaders,
        LiveQuery,
        ("last-event-id" = Option<String>, Header, description = "The id of the last event that was received: its version."),
    ),
    responses((status = 200, description = "The stream.", body = LiveEvent, content_type = "text/event-stream")),
    security(("service_token" = []))
)]
pub(in crate::http) async fn watch_recorded_conversation(
    State(state): State<HttpState>,
    open: StreamSlot,
    service: Service,
    Path(id): Path<String>,
    request: LiveRequest,
) -> Result<Response, HttpProblem> {
    let target = service.target(&state, &id).await?;
    live::respond(&state, open, request, target.into()).await
}
