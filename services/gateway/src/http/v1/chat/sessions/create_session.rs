//! `POST /v1/chat/sessions`: creates a session.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use runtime::http::{HttpProblem, Json};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::proto::event::v1 as event;

use crate::http::chats::create_chat::ClientContextBody;
use api_json::content::json_text;
use conversations::create::{NewChat, create};
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::{CallerHeaders, CallerIds};
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;

/// The session. All members are optional, and so is the body.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSessionBody {
    /// Its title, at most 1,024 bytes.
    title: Option<String>,
    /// The client.
    context: Option<ClientContextBody>,
    /// Other values that the client stores with it: an object, at most 64 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Box<RawValue>>,
}

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
    request_body = Option<CreateSessionBody>,
    responses((status = 201, description = "The new session.", body = CreatedSessionBody)),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn create_session(
    State(state): State<HttpState>,
    frontend: Frontend,
    key: IdempotencyKey,
    body: Option<Json<CreateSessionBody>>,
) -> Result<Response, HttpProblem> {
    let caller = frontend.caller(&state, CallerIds::default()).await?;
    let Json(body) = body.unwrap_or_default();
    let new_chat = NewChat {
        title: body.title.unwrap_or_default(),
        metadata_json: json_text(body.metadata),
        context: body.context.map(event::ClientContext::from),
        ..NewChat::default()
    };
    let session = create(&state, &caller, &frontend.via, new_chat, key.0).await?;
    let body = CreatedSessionBody { session_id: session.conversation_id };
    Ok((StatusCode::CREATED, Json(body)).into_response())
}
