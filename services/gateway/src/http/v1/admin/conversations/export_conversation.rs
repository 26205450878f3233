//! `GET /v1/admin/conversations/{id}/export`: every event of any conversation of the tenant, as a file.

use axum::extract::State;
use axum::response::Response;
use runtime::http::{HttpProblem, Path, Query, StreamSlot};

use conversations::open::read_fenced;
use http_listener::callers::admin::Admin;
use http_listener::export::{Export, ExportQuery};
use http_listener::state::HttpState;

/// Every event of any conversation of the tenant, as a file.
///
/// As `GET /api/chats/{id}/export`.
#[utoipa::path(
    get,
    path = "/v1/admin/conversations/{id}/export",
    tag = "admin",
    params(("id" = String, Path, description = "The conversation."), ExportQuery),
    responses((status = 200, description = "The file.", content(("application/json"), ("text/csv"), ("application/x-ndjson")))),
    security(("bearer" = []))
)]
pub(in crate::http) async fn export_conversation(
    open: StreamSlot,
    State(state): State<HttpState>,
    admin: Admin,
    Path(id): Path<String>,
    Query(query): Query<ExportQuery>,
) -> Result<Response, HttpProblem> {
    let target = admin.target(&state, &id).await?;
    let (target, conversation) = read_fenced(&state, target).await?;
    let export = Export::new(state.gateway.clone(), target, conversation, query.format);
    Ok(export.respond(open, &format!("conversation-{id}")))
}
