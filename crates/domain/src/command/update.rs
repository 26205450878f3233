//! Change a conversation's title, metadata or provider ids.

use super::{Decision, Rejection, lifecycle_event};
use crate::event::{ConversationUpdated, Lifecycle};
use crate::head::{Head, Status};
use crate::id::CommitId;

pub(super) fn decide(head: &Head, commit: CommitId, updated: &ConversationUpdated) -> Result<Decision, Rejection> {
    if head.status == Status::Archived {
        return Err(Rejection::Archived);
    }
    if *updated == ConversationUpdated::default() {
        return Ok(Decision::Unchanged);
    }
    Ok(Decision::Commit(vec![lifecycle_event(commit, Lifecycle::ConversationUpdated(updated.clone()))]))
}
