//! Create a conversation, with its first events.

use super::append_events::{self, NewEvent};
use super::{Command, Decision, Expectation, Rejection, lifecycle_event};
use crate::event::{ConversationCreated, Event, Lifecycle};
use crate::head::{Head, Status};
use crate::position::Version;
use crate::time::Timestamp;

pub(super) fn decide(
    head: Option<&Head>,
    command: &Command,
    created: &ConversationCreated,
    occurred_at: Option<Timestamp>,
    events: &[NewEvent],
) -> Result<Decision, Rejection> {
    if let Some(head) = head {
        return Err(match head.status {
            Status::Erased => Rejection::Erased,
            Status::Active | Status::Archived => Rejection::AlreadyExists,
        });
    }
    if let Expectation::Exact(expected) = command.expectation
        && expected != Version::ZERO
    {
        return Err(Rejection::VersionConflict {
            expected,
            current: Version::ZERO,
        });
    }
    let fork = created.forked_from.as_ref();
    let first = fork.map_or(Version::ZERO, |fork| fork.version).next();
    let mut recorded = vec![Event {
        occurred_at,
        ..lifecycle_event(
            command.commit,
            Lifecycle::ConversationCreated(created.clone()),
        )
    }];
    let following = append_events::after_creation(first, command.commit, events)?;
    recorded.extend(following);
    Ok(Decision::Commit(recorded))
}
