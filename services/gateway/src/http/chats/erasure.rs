//! The erasure of one conversation of a caller's, by the writer.

use domain::{CommitId, ConversationId};
use runtime::http::HttpProblem;
use wire::conversation::owner_to_proto;
use wire::proto::write::v1::{EraseConversationRequest, ForkRule};

use crate::http::idempotency::IdempotencyKey;
use crate::http::owned_chat::{command_target, is_others};
use crate::http::state::HttpState;
use crate::identity::Caller;

/// What an erasure came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erased {
    /// It is erased: nobody can read it any more.
    Done {
        /// How many of its commits are not overwritten yet; 0: the erasure is complete.
        pending_commits: u64,
    },
    /// It is not the caller's, or not any more.
    NotTheirs,
}

/// Erases a conversation while it is the caller's.
///
/// # Errors
/// What the writer says.
pub(super) async fn erase(
    state: &HttpState,
    caller: &Caller,
    chat: &ConversationId,
    key: Option<CommitId>,
    forks: ForkRule,
) -> Result<Erased, HttpProblem> {
    let key = IdempotencyKey(key);
    // The owner is part of the request that the key names: nobody else's retry gets the first answer.
    let request = EraseConversationRequest {
        target: Some(command_target(&caller.access, chat, key.text())),
        expected_owner: Some(owner_to_proto(&caller.owner)),
        forks: forks.into(),
    };
    match state.commands.erase(request).await {
        Ok(pending_commits) => Ok(Erased::Done { pending_commits }),
        Err(problem) if is_others(&problem) => Ok(Erased::NotTheirs),
        Err(problem) => Err(problem),
    }
}
