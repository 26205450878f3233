//! Erase a conversation for good: the tombstone. Archived conversations can be erased too.

use super::{Action, Decision, Rejection, lifecycle_event};
use crate::event::Fact;
use crate::id::CommitId;

pub(super) fn decide(commit: CommitId) -> Decision {
    Decision::Commit(vec![lifecycle_event(commit, Fact::ConversationErased)])
}

/// What may still be done with an erased conversation: erase it again, which changes nothing.
pub(super) fn decide_erased(action: &Action) -> Result<Decision, Rejection> {
    match action {
        Action::Erase => Ok(Decision::Unchanged),
        Action::Create { .. }
        | Action::Append(_)
        | Action::Update(_)
        | Action::Archive
        | Action::Restore
        | Action::ChangeOwner { .. }
        | Action::StartRun(_)
        | Action::StopRun(_)
        | Action::FinishRun(_) => Err(Rejection::Erased),
    }
}
