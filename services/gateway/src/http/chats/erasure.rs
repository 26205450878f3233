//! Erases one conversation of the caller.

use domain::{CommitId, ConversationId};
use runtime::http::HttpProblem;
use wire::conversation::owner_to_proto;
use wire::proto::write::v1::{EraseConversationRequest, ForkRule};

use crate::http::idempotency::IdempotencyKey;
use crate::http::owned_chat::{command_target, is_not_owned};
use crate::http::state::HttpState;
use crate::identity::Caller;

/// The result of an erasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erasure {
    /// It is erased and cannot be read.
    Done {
        /// Number of commits that are not overwritten yet; 0: the erasure is complete.
        pending_commits: u64,
    },
    /// The caller does not own it, or no longer does.
    NotOwned,
}

/// Erases a conversation if the caller owns it.
///
/// # Errors
/// The writer rejects the command or does not answer.
pub(super) async fn erase(
    state: &HttpState,
    caller: &Caller,
    chat: &ConversationId,
    key: Option<CommitId>,
    forks: ForkRule,
) -> Result<Erasure, HttpProblem> {
    let key = IdempotencyKey(key);
    // The owner is part of the request that the key identifies: another owner's retry does not get the first answer.
    let request = EraseConversationRequest {
        target: Some(command_target(&caller.access, chat, key.text())),
        expected_owner: Some(owner_to_proto(&caller.owner)),
        forks: forks.into(),
    };
    match state.commands.erase(request).await {
        Ok(pending_commits) => Ok(Erasure::Done { pending_commits }),
        Err(problem) if is_not_owned(&problem) => Ok(Erasure::NotOwned),
        Err(problem) => Err(problem),
    }
}
