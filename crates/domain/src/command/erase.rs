//! Erase a conversation for good: the tombstone. Archived conversations can be erased too.

use super::{Action, Decision, Rejection, lifecycle_event};
use crate::conversation::Owner;
use crate::event::Fact;
use crate::head::Head;
use crate::id::CommitId;

pub(super) fn decide(
    head: &Head,
    commit: CommitId,
    expected: Option<&Owner>,
) -> Result<Decision, Rejection> {
    if expected.is_some() && expected != head.owner.as_ref() {
        return Err(Rejection::OwnerMismatch);
    }
    let erased = lifecycle_event(commit, Fact::ConversationErased);
    Ok(Decision::Commit(vec![erased]))
}

/// What may still be done with an erased conversation: erase it again, which changes nothing. It belongs to nobody any
/// more.
pub(super) fn decide_erased(action: &Action) -> Result<Decision, Rejection> {
    match action {
        Action::Erase { expected: None } => Ok(Decision::Unchanged),
        Action::Erase { expected: Some(_) }
        | Action::Create { .. }
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
