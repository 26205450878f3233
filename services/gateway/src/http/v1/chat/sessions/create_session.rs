//! `POST /v1/chat/sessions`: creates a session.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use runtime::http::{HttpProblem, Json};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::chats::create_chat::{NewChat, create};
use crate::http::{CallerHeaders, CallerIds, Frontend, HttpState, IdempotencyKey};

/// The new session.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedSessionBody {
    /// Its id.
    #[schema(example = "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11")]
    session_id: String,
}

/// Create a session.
///
/// A session is a conversation. The caller owns it: the user, or the session in `x-session-id`.
#[utoipa::path(
    post,
    path = "/v1/chat/sessions",
    tag = "chat",
    params(CallerHeaders, ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries.")),
    responses((status = 201, description = "The new session.", body = CreatedSessionBody)),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn create_session(
    State(state): State<HttpState>,
    frontend: Frontend,
    key: IdempotencyKey,
) -> Result<Response, HttpProblem> {
    let caller = frontend.caller(&state, CallerIds::default()).await?;
    let session = create(&state, &caller, NewChat::default(), key).await?;
    let body = CreatedSessionBody {
        session_id: session.conversation_id,
    };
    Ok((StatusCode::CREATED, Json(body)).into_response())
}
