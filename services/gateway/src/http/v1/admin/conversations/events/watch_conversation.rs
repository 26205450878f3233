//! `GET /v1/admin/conversations/{id}/events/stream`: the events of any conversation of the tenant, live.

use axum::extract::State;
use axum::response::Response;
use runtime::http::{HttpProblem, Path, StreamSlot};

use http_listener::callers::admin::Admin;
use http_listener::live::{self, LiveEvent, LiveQuery, LiveRequest};
use http_listener::state::HttpState;

/// Stream the events of any conversation of the tenant.
///
/// As `GET /api/chats/{id}/events`.
#[utoipa::path(
    get,
    path = "/v1/admin/conversations/{id}/events/stream",
    tag = "admin",
    params(
        ("id" = String, Path, description = "The conversation."),
        LiveQuery,
        ("last-event-id" = Option<String>, Header, description = "The id of the last event that was received: its version."),
    ),
    responses((status = 200, description = "The stream.", body = LiveEvent, content_type = "text/event-stream")),
    security(("bearer" = []))
)]
pub(in crate::http) async fn watch_conversation(
    State(state): State<HttpState>,
    open: StreamSlot,
    admin: Admin,
    Path(id): Path<String>,
    request: LiveRequest,
) -> Result<Response, HttpProblem> {
    let target = admin.target(&state, &id).await?;
    live::respond(&state, open, request, target.into()).await
}
