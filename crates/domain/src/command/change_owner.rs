//! Change the owner of a conversation, also of an archived one. The owner of a channel's conversation never changes.

use super::{Decision, Rejection, lifecycle_event};
use crate::event::{Lifecycle, OwnerChanged};
use crate::head::Head;
use crate::id::CommitId;
use crate::owner::Owner;

pub(super) fn decide(
    head: &Head,
    commit: CommitId,
    owner: &Owner,
    expected: Option<&Owner>,
) -> Result<Decision, Rejection> {
    let Some(previous) = head.owner.as_ref() else {
        return Err(Rejection::Erased);
    };
    if previous == owner {
        return Ok(Decision::Unchanged);
    }
    if expected.is_some_and(|expected| expected != previous) {
        return Err(Rejection::OwnerMismatch);
    }
    if previous.is_channel() || owner.is_channel() {
        return Err(Rejection::OwnerFixed);
    }
    let changed = OwnerChanged { owner: owner.clone(), previous: previous.clone() };
    let fact = Lifecycle::OwnerChanged(changed);
    Ok(Decision::Commit(vec![lifecycle_event(commit, fact)]))
}
