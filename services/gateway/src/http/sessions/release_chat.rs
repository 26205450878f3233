//! `POST /api/sessions/release`: a user gives a conversation back to a session.

use axum::extract::State;
use axum::http::StatusCode;
use domain::{Owner, SessionId};
use runtime::http::{HttpProblem, Json};
use serde::Deserialize;
use utoipa::ToSchema;
use wire::conversation::owner_to_proto;
use wire::proto::write::v1::ChangeOwnerRequest;
use wire::status::Problem;

use super::claim_session::known_user;
use crate::http::chats::owned::owned;
use crate::http::frontend::Frontend;
use crate::http::idempotency::IdempotencyKey;
use crate::http::problem;
use crate::http::state::HttpState;

/// What to give back, and to whom.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReleaseChatBody {
    /// The conversation, which is the user's.
    #[schema(example = "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11")]
    chat_id: String,
    /// The session that it belongs to from now on.
    #[schema(example = "0198c1a2-1111-7b5e-9d0a-1f6f0c9b2a11")]
    session_id: String,
}

/// Give a conversation back to a session.
///
/// What `POST /api/sessions/claim` did, undone for one conversation. Both stand in its record.
#[utoipa::path(
    post,
    path = "/api/sessions/release",
    tag = "sessions",
    params(("idempotency-key" = Option<String>, Header, description = "A UUID that names this request for all of its retries.")),
    request_body = ReleaseChatBody,
    responses((status = 204, description = "It is the session's.")),
    security(("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn release_chat(
    State(state): State<HttpState>,
    frontend: Frontend,
    key: IdempotencyKey,
    Json(body): Json<ReleaseChatBody>,
) -> Result<StatusCode, HttpProblem> {
    let user = known_user(&state, &frontend).await?;
    let session = SessionId::parse(body.session_id)
        .map_err(|broken| problem::of(Problem::from(broken.within("sessionId"))))?;
    let chat = owned(&state, &user, &body.chat_id).await?;
    let request = ChangeOwnerRequest {
        target: Some(chat.command_target(key.text())),
        owner: Some(owner_to_proto(&Owner::Session(session))),
        expected_owner: Some(owner_to_proto(&user.owner)),
    };
    state.commands.change_owner(request).await?;
    Ok(StatusCode::NO_CONTENT)
}
