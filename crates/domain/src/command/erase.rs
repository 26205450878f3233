//! Erase a conversation for good: the tombstone. Archived conversations can be erased too.

use super::{Action, Decision, Rejection, lifecycle_event};
use crate::event::{Event, Lifecycle};
use crate::head::Head;
use crate::id::CommitId;
use crate::json::JsonText;
use crate::owner::Owner;

/// What becomes of forks that read through a conversation that is to be erased. The tombstone's metadata says which rule it
/// was, so that a fork whose answer was lost is not acknowledged afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForkRule {
    /// Nothing is erased while there are any. Who appends the tombstone looks for them; this crate does not.
    #[default]
    Refuse,
    /// They are not looked for, and can no longer be read.
    Sever,
    /// The conversation is itself a fork that was not acknowledged. So none of its forks was.
    Undo,
}

impl ForkRule {
    /// The rule of a tombstone.
    #[must_use]
    pub fn of_tombstone(tombstone: &Event) -> Self {
        let metadata = tombstone.metadata.as_ref().map(JsonText::as_str);
        let rules = [Self::Sever, Self::Undo].into_iter();
        let mut rules = rules.filter(|rule| rule.metadata() == metadata);
        rules.next().unwrap_or(Self::Refuse)
    }

    fn metadata(self) -> Option<&'static str> {
        match self {
            Self::Refuse => None,
            Self::Sever => Some(r#"{"forks":"severed"}"#),
            Self::Undo => Some(r#"{"forks":"undone"}"#),
        }
    }
}

pub(super) fn decide(
    head: &Head,
    commit: CommitId,
    expected: Option<&Owner>,
    forks: ForkRule,
) -> Result<Decision, Rejection> {
    if expected.is_some() && expected != head.owner.as_ref() {
        return Err(Rejection::OwnerMismatch);
    }
    let metadata = forks.metadata().map(JsonText::parse);
    Ok(Decision::Commit(vec![Event {
        metadata: metadata.and_then(Result::ok),
        ..lifecycle_event(commit, Lifecycle::ConversationErased)
    }]))
}

/// What may still be done with an erased conversation: erase it again, which changes nothing. It belongs to nobody any
/// more.
pub(super) fn decide_erased(action: &Action) -> Result<Decision, Rejection> {
    match action {
        Action::Erase { expected: None, .. } => Ok(Decision::Unchanged),
        Action::Erase {
            expected: Some(_), ..
        }
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
