//! Create a conversation, with its first events and its first run.

use super::append_events::{self, NewEvent};
use super::{Command, Decision, Expectation, Rejection, lifecycle_event};
use crate::event::{ConversationCreated, Event, Lifecycle, RunStarted};
use crate::head::{Head, Status};
use crate::position::Version;
use crate::time::Timestamp;

/// A conversation to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Create {
    /// Its first event.
    pub created: ConversationCreated,
    /// When it began, if the caller gave a time.
    pub occurred_at: Option<Timestamp>,
    /// The events after it, in the same commit.
    pub events: Vec<NewEvent>,
    /// The run that starts after them, in the same commit; `None`: none.
    pub run: Option<RunStarted>,
}

pub(super) fn decide(head: Option<&Head>, command: &Command, create: &Create) -> Result<Decision, Rejection> {
    if let Some(head) = head {
        return Err(match head.status {
            Status::Erased => Rejection::Erased,
            Status::Active | Status::Archived => Rejection::AlreadyExists,
        });
    }
    if let Expectation::Exact(expected) = command.expectation
        && expected != Version::ZERO
    {
        return Err(Rejection::VersionConflict { expected, current: Version::ZERO });
    }
    let fork = create.created.forked_from.as_ref();
    let first = fork.map_or(Version::ZERO, |fork| fork.version).next();
    let mut recorded = vec![Event {
        occurred_at: create.occurred_at,
        ..lifecycle_event(command.commit, Lifecycle::ConversationCreated(create.created.clone()))
    }];
    let following = append_events::after_creation(first, command.commit, &create.events)?;
    recorded.extend(following);
    if let Some(run) = &create.run {
        let started = Lifecycle::RunStarted(run.clone());
        append_events::push_last(&mut recorded, command.commit, started);
    }
    Ok(Decision::Commit(recorded))
}
