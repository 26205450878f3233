//! `POST /api/sessions/release`: a user gives a conversation back to a session.

use axum::extract::State;
use axum::http::StatusCode;
use domain::Owner;
use runtime::http::{HttpProblem, Json};
use serde::Deserialize;
use utoipa::ToSchema;
use wire::conversation::owner_to_proto;
use wire::proto::write::v1::ChangeOwnerRequest;
use wire::status::Reason;

use super::claim_session::known_user;
use crate::http::frontend::Frontend;
use crate::http::idempotency::IdempotencyKey;
use crate::http::owned_chat::{command_target, is_others, not_found, owned, target};
use crate::http::state::HttpState;

/// What to give back, and to whom.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReleaseChatBody {
    /// The conversation, which is the user's.
    #[schema(example = "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11")]
    chat_id: String,
    /// The session that it belongs to from now on, as it was issued; also as the header `x-session-id`, or as the cookie.
    session_id: Option<String>,
}

/// Give a conversation back to a session.
///
/// What `POST /api/sessions/claim` did, undone for one conversation. Both stand in its record. Once it is given back it is not
/// the user's: a second request is answered with 404, but for a retry under the first one's idempotency key.
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
    let session = frontend.issued_session(&state, body.session_id)?;
    let target = target(&state, &user, &body.chat_id)?;
    // The writer is asked first: it alone knows whether this very request gave the conversation away before.
    let request = ChangeOwnerRequest {
        target: Some(command_target(
            &user.access,
            &target.key.conversation,
            key.text(),
        )),
        owner: Some(owner_to_proto(&Owner::Session(session))),
        expected_owner: Some(owner_to_proto(&user.owner)),
    };
    match state.commands.change_owner(request).await {
        Ok(result) if result.first_version > 0 => Ok(StatusCode::NO_CONTENT),
        // It is that session's already, and not by this request.
        Ok(_) => Err(not_found()),
        Err(problem) if is_others(&problem) => Err(not_found()),
        Err(problem) if problem.code == Reason::IdempotencyKeyReused.as_str() => {
            // Of what is not the user's, nothing is told: not even that the key was used for it.
            owned(&state, &user, &body.chat_id).await?;
            Err(problem)
        }
        Err(problem) => Err(problem),
    }
}
