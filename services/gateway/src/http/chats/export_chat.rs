//! `GET /api/chats/{id}/export`: every event of a conversation, as a file.

use axum::extract::State;
use axum::response::Response;
use runtime::http::{HttpProblem, Path, Query, StreamSlot};

use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::CallerHeaders;
use http_listener::export::{Export, ExportQuery};
use http_listener::state::HttpState;

/// Every event of a conversation, as a file.
///
/// The file has the state of the conversation at the start of the export, and is streamed: an answer that ends early is
/// incomplete. JSON ends with `version` and `chain`. To verify it: start with 32 zero bytes; for each run of events
/// with one `commitId`, take each event's `raw` (base64), prefixed with `0x0a` and its length as a varint, and replace
/// the hash by the SHA-256 of itself and those bytes; the last hash is `chain`. The chain of a fork covers only the
/// events after `forkedFrom.version`. The last row of CSV has the type `Chain` and the hash as its text.
/// The last line of NDJSON is `{"end":{"version":N}}`. If the agent's settings hide parts of tool calls, the file does not have
/// them, no event has `raw`, and the chain cannot be computed.
#[utoipa::path(
    get,
    path = "/api/chats/{id}/export",
    tag = "chats",
    params(("id" = String, Path, description = "The conversation."), CallerHeaders, ExportQuery),
    responses((status = 200, description = "The file.", content(("application/json"), ("text/csv"), ("application/x-ndjson")))),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn export_chat(
    open: StreamSlot,
    State(state): State<HttpState>,
    frontend: Frontend,
    Path(id): Path<String>,
    Query(query): Query<ExportQuery>,
) -> Result<Response, HttpProblem> {
    let chat = frontend.chat(&state, &id).await?;
    let disclosure = state.disclosure(&chat.target.access.agent);
    let export = Export::new(state.gateway.clone(), chat.target, chat.conversation, query.format).disclosed(disclosure);
    Ok(export.respond(open, &format!("chat-{id}")))
}
