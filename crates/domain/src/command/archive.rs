//! Close a conversation for events.

use super::{Decision, lifecycle_event};
use crate::event::Lifecycle;
use crate::head::{Head, Status};
use crate::id::CommitId;

pub(super) fn decide(head: &Head, commit: CommitId) -> Decision {
    if head.status == Status::Archived {
        return Decision::Unchanged;
    }
    Decision::Commit(vec![lifecycle_event(commit, Lifecycle::ConversationArchived)])
}
