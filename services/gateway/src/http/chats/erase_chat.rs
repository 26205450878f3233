//! `DELETE /api/chats/{id}`: erase a conversation for good.

use axum::extract::State;
use axum::http::StatusCode;
use runtime::http::{HttpProblem, Path};
use wire::proto::write::v1::EraseConversationRequest;

use super::owned::asked;
use crate::http::frontend::{CallerHeaders, Frontend};
use crate::http::idempotency::IdempotencyKey;
use crate::http::state::HttpState;

/// Erase a conversation for good.
///
/// Nothing brings it back. From then on it is not there: also for a second erasure.
#[utoipa::path(
    delete,
    path = "/api/chats/{id}",
    tag = "chats",
    params(
        ("id" = String, Path, description = "The conversation."),
        CallerHeaders,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that names this request for all of its retries."),
    ),
    responses((status = 204, description = "It is erased.")),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn erase_chat(
    State(state): State<HttpState>,
    frontend: Frontend,
    key: IdempotencyKey,
    Path(id): Path<String>,
) -> Result<StatusCode, HttpProblem> {
    let chat = asked(&state, &frontend, &id).await?;
    let target = Some(chat.command_target(key.text()));
    state
        .commands
        .erase(EraseConversationRequest { target })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
