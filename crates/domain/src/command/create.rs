//! Create a conversation.

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
) -> Result<Decision, Rejection> {
    if let Some(head) = head {
        return Err(match head.status {
            Status::Erased => Rejection::Erased,
            Status::Active | Status::Archived => Rejection::AlreadyExists,
        });
    }
    match command.expectation {
        Expectation::Any | Expectation::Exact(Version::ZERO) => Ok(Decision::Commit(vec![Event {
            occurred_at,
            ..lifecycle_event(
                command.commit,
                Lifecycle::ConversationCreated(created.clone()),
            )
        }])),
        Expectation::Exact(expected) => Err(Rejection::VersionConflict {
            expected,
            current: Version::ZERO,
        }),
    }
}
