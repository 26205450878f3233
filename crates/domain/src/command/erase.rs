//! Erase a conversation: append the tombstone. Archived conversations can be erased too.

use super::{Action, Decision, Rejection, lifecycle_event};
use crate::event::{Event, Lifecycle};
use crate::head::Head;
use crate::id::CommitId;
use crate::json::JsonText;
use crate::owner::Owner;

/// What happens to forks that read through the erased conversation. The tombstone's metadata contains the rule, so that a
/// fork whose response was lost is not acknowledged later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForkRule {
    /// Forks prevent the erasure. The service that appends the tombstone searches for them; this crate does not.
    #[default]
    Refuse,
    /// Nothing searches for them, and they become unreadable.
    Sever,
    /// The conversation is itself a fork that was not acknowledged, so it has no acknowledged forks.
    Undo,
}

impl ForkRule {
    /// The rule of a tombstone.
    #[must_use]
    pub fn from_tombstone(tombstone: &Event) -> Self {
        let metadata = tombstone.metadata.as_ref().map(JsonText::as_str);
        let mut rules = [Self::Sever, Self::Undo].into_iter().filter(|rule| rule.metadata() == metadata);
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

/// The decision about an erased conversation: erasing it again changes nothing, everything else is rejected. It has no
/// owner.
pub(super) fn decide_erased(action: &Action) -> Result<Decision, Rejection> {
    match action {
        Action::Erase { expected: None, .. } => Ok(Decision::Unchanged),
        Action::Erase { expected: Some(_), .. }
        | Action::Create(_)
        | Action::Append { .. }
        | Action::Update(_)
        | Action::Archive
        | Action::Restore
        | Action::ChangeOwner { .. }
        | Action::StartRun(_)
        | Action::StopRun(_)
        | Action::FinishRun(_) => Err(Rejection::Erased),
    }
}
