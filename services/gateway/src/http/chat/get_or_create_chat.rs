//! The chat that a page names. It is created with the first message.

use axum::http::StatusCode;
use runtime::http::HttpProblem;

use crate::http::chats::new_chat::{NewChat, create};
use crate::http::idempotency::IdempotencyKey;
use crate::http::owned_chat::{OwnedChat, find_latest_chat, not_found};
use crate::http::state::HttpState;
use crate::identity::Caller;

/// The caller's chat with this id, created if it does not exist.
///
/// # Errors
/// 404 if the id is someone else's, 400 if it is invalid; 503.
pub(super) async fn get_or_create_chat(
    state: &HttpState,
    caller: &Caller,
    id: &str,
) -> Result<OwnedChat, HttpProblem> {
    let missing = match find_latest_chat(state, caller, id).await {
        Err(problem) if problem == not_found() => problem,
        found => return found,
    };
    let chat = NewChat {
        id: id.to_owned(),
        ..NewChat::default()
    };
    match create(state, caller, chat, IdempotencyKey(None)).await {
        Ok(_) => find_latest_chat(state, caller, id).await,
        // It is someone else's, was erased, or was created by a concurrent request of the caller.
        Err(problem) if problem.status == StatusCode::CONFLICT => {
            find_latest_chat(state, caller, id).await
        }
        Err(problem) if problem.status == StatusCode::NOT_FOUND => Err(missing),
        Err(problem) => Err(problem),
    }
}
