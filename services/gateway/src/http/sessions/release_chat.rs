//! `POST /api/sessions/release`: a user returns a conversation to a session.

use axum::extract::State;
use axum::http::StatusCode;
use domain::{ConversationKey, Owner};
use runtime::http::{HttpProblem, Json};
use serde::Deserialize;
use utoipa::ToSchema;
use wire::conversation::owner_to_proto;
use wire::proto::write::v1::ChangeOwnerRequest;
use wire::status::Reason;

use super::claim_session::known_user;
use conversations::commands::{Issuer, command_target};
use conversations::identity::Caller;
use conversations::names::{ReadFrom, candidates, find, find_owned};
use conversations::open::{find_chat, is_not_owned};
use http_listener::callers::frontend::Frontend;
use http_listener::idempotency::IdempotencyKey;
use http_listener::not_found::not_found;
use http_listener::state::HttpState;

/// The conversation and the session.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReleaseChatBody {
    /// The conversation, owned by the user.
    #[schema(example = "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11")]
    chat_id: String,
    /// The issued session that becomes the owner; also as the header `x-session-id`, or as the cookie.
    session_id: Option<String>,
}

/// Return a conversation to a session.
///
/// Reverts `POST /api/sessions/claim` for one conversation; the record has both changes. Afterwards the user does not
/// own it: a second request gets 404, except a retry with the same idempotency key. The session finds it by its
/// `recordId`, and by an id that it chose itself: an id that the user chose stays a name of the user.
#[utoipa::path(
    post,
    path = "/api/sessions/release",
    tag = "sessions",
    params(("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries.")),
    request_body = ReleaseChatBody,
    responses((status = 204, description = "The session owns it.")),
    security(("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn release_chat(
    State(state): State<HttpState>,
    frontend: Frontend,
    key: IdempotencyKey,
    Json(body): Json<ReleaseChatBody>,
) -> Result<StatusCode, HttpProblem> {
    let user = known_user(&state, &frontend).await?;
    let session = Owner::Session(frontend.issued_session(&state, body.session_id)?);
    let chat = find_or_released(&state, &user, &session, &body.chat_id).await?;
    // The writer decides: only it can detect a retry of a request that changed the owner.
    let request = ChangeOwnerRequest {
        target: Some(command_target(&user.access.agent, &chat.conversation, key.0)),
        owner: Some(owner_to_proto(&session)),
        expected_owner: Some(owner_to_proto(&user.owner)),
    };
    match state.commands.send(Issuer::Gateway, request).await {
        Ok(result) if result.first_version > 0 => Ok(StatusCode::NO_CONTENT),
        // The session owned it before this request.
        Ok(_) => Err(not_found()),
        Err(problem) if is_not_owned(problem.reason()) => Err(not_found()),
        Err(problem) if problem.reason() == Reason::IdempotencyKeyReused => {
            // Nothing is disclosed about conversations of others, not even that the key was used.
            find_chat(&state, &user, &body.chat_id).await?;
            Err(problem.into())
        }
        Err(problem) => Err(problem.into()),
    }
}

/// The user's conversation, or the one that a request before this one has given to the session.
///
/// # Errors
/// [`not_found`]; a service does not answer.
async fn find_or_released(
    state: &HttpState,
    user: &Caller,
    session: &Owner,
    id: &str,
) -> Result<ConversationKey, HttpProblem> {
    if let Some(chat) = find(state, &user.access, &user.owner, id, ReadFrom::Leader).await? {
        return Ok(chat);
    }
    let mut named = candidates(state, &user.access, &user.owner, id)?;
    named.extend(candidates(state, &user.access, session, id)?);
    let released = find_owned(state, &user.access, named, session, ReadFrom::Leader).await?;
    released.ok_or_else(not_found)
}
