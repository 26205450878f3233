//! The chat that a page names: its own, begun when it first says something.

use axum::http::StatusCode;
use runtime::http::HttpProblem;

use crate::http::chats::begin_chat::{BeginChat, begin};
use crate::http::idempotency::IdempotencyKey;
use crate::http::owned_chat::{Owned, not_found, owned_latest};
use crate::http::state::HttpState;
use crate::identity::Caller;

/// The caller's chat with this id, begun where there is none.
///
/// # Errors
/// 404 where the id is somebody else's, 400 where it is none; 503.
pub(super) async fn begun(
    state: &HttpState,
    caller: &Caller,
    id: &str,
) -> Result<Owned, HttpProblem> {
    let missing = match owned_latest(state, caller, id).await {
        Err(problem) if problem == not_found() => problem,
        found => return found,
    };
    let chat = BeginChat {
        id: id.to_owned(),
        ..BeginChat::default()
    };
    match begin(state, caller, chat, IdempotencyKey(None)).await {
        Ok(_) => owned_latest(state, caller, id).await,
        // It is somebody else's, was erased, or was begun by another request of the caller's just now.
        Err(problem) if problem.status == StatusCode::CONFLICT => {
            owned_latest(state, caller, id).await
        }
        Err(problem) if problem.status == StatusCode::NOT_FOUND => Err(missing),
        Err(problem) => Err(problem),
    }
}
