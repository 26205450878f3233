//! `POST /v1/chat/sessions`: begin a session.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use runtime::http::{HttpProblem, Json};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::chats::begin_chat::{BeginChat, begin};
use crate::http::frontend::{CallerHeaders, Frontend, Named};
use crate::http::idempotency::IdempotencyKey;
use crate::http::state::HttpState;

/// The session that was begun.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedSessionBody {
    /// Its id.
    #[schema(example = "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11")]
    session_id: String,
}

/// Begin a session.
///
/// It is a conversation, which belongs to the user that the caller is known as, or to the caller's `x-session-id`.
#[utoipa::path(
    post,
    path = "/v1/chat/sessions",
    tag = "chat",
    params(CallerHeaders, ("idempotency-key" = Option<String>, Header, description = "A UUID that names this request for all of its retries.")),
    responses((status = 201, description = "It was begun.", body = CreatedSessionBody)),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn create_session(
    State(state): State<HttpState>,
    frontend: Frontend,
    key: IdempotencyKey,
) -> Result<Response, HttpProblem> {
    let caller = frontend.caller(&state, Named::default()).await?;
    let begun = begin(&state, &caller, BeginChat::default(), key).await?;
    let body = CreatedSessionBody {
        session_id: begun.conversation_id,
    };
    Ok((StatusCode::CREATED, Json(body)).into_response())
}
