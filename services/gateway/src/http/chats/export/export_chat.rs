//! `GET /api/chats/{id}/export`: every event of a conversation, as a file.

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use runtime::http::{HttpProblem, Path, Query, StreamSlot};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{ExportFormat, stream};
use crate::http::{CallerHeaders, Frontend, HttpState};

/// The format of the export.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ExportChatQuery {
    /// The format; absent: JSON.
    #[serde(default)]
    #[param(inline)]
    format: ExportFormat,
}

/// Every event of a conversation, as a file.
///
/// The file has the state of the conversation at the start of the export, and is streamed: an answer that ends early is
/// incomplete. JSON ends with `version` and `chain`. To verify it: start with 32 zero bytes; for each run of events
/// with one `commitId`, take each event's `raw` (base64), prefixed with `0x0a` and its length as a varint, and replace
/// the hash by the SHA-256 of itself and those bytes; the last hash is `chain`. The chain of a fork covers only the
/// events after `forkedFrom.version`. The last row of CSV has the type `Chain` and the hash as its text.
#[utoipa::path(
    get,
    path = "/api/chats/{id}/export",
    tag = "chats",
    params(("id" = String, Path, description = "The conversation."), CallerHeaders, ExportChatQuery),
    responses((status = 200, description = "The file.", content(("application/json"), ("text/csv")))),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn export_chat(
    open: StreamSlot,
    State(state): State<HttpState>,
    frontend: Frontend,
    Path(id): Path<String>,
    Query(query): Query<ExportChatQuery>,
) -> Result<Response, HttpProblem> {
    let chat = frontend.chat(&state, &id).await?;
    let format = query.format;
    let file = format!("attachment; filename=\"chat-{id}.{}\"", format.extension());
    let headers = [
        (header::CONTENT_TYPE, format.content_type().to_owned()),
        (header::CONTENT_DISPOSITION, file),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    let body = Body::from_stream(stream(state.gateway.clone(), chat, format));
    Ok(open.respond((headers, body).into_response()))
}
