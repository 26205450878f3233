//! `hansard.write.v1.WriteService`.

mod append_stream;
mod attempts;
mod bad_events;
mod bad_fields;
mod bounds;
mod idempotency;
mod lifecycle;
mod payload;
mod retries;
mod rewinds;
mod state;
mod summaries;
mod through_gateway;
mod tokens;
mod update_conversation;

use std::fmt;

use tests::agent::{Agent, Outcome};
use wire::proto::write::v1 as proto;

/// A command of any rpc.
#[expect(clippy::large_enum_variant, reason = "a test has few of them")]
#[derive(Debug, Clone)]
enum Command {
    Create(proto::CreateConversationRequest),
    Append(proto::AppendEventsRequest),
    Update(proto::UpdateConversationRequest),
    Archive(proto::CommandTarget),
    Restore(proto::CommandTarget),
    Erase(proto::CommandTarget),
}

impl Command {
    /// Sends it as a unary call.
    async fn send(self, agent: &Agent) -> Outcome {
        match self {
            Self::Create(request) => agent.try_create(request).await,
            Self::Append(request) => agent.try_append(request).await,
            Self::Update(request) => agent.try_update(request).await,
            Self::Archive(target) => agent.try_archive(target).await,
            Self::Restore(target) => agent.try_restore(target).await,
            Self::Erase(target) => agent.try_erase(target).await,
        }
    }

    /// The same command for a stream, if streams accept it.
    fn in_stream(&self) -> Option<proto::append_stream_request::Command> {
        use proto::append_stream_request::Command;
        match self {
            Self::Create(request) => Some(Command::CreateConversation(request.clone())),
            Self::Append(request) => Some(Command::AppendEvents(request.clone())),
            Self::Update(_) | Self::Archive(_) | Self::Restore(_) | Self::Erase(_) => None,
        }
    }
}

/// Changes a request in one expression.
pub(crate) fn with<T>(mut value: T, change: impl FnOnce(&mut T)) -> T {
    change(&mut value);
    value
}

/// Checks that an answer is a replay of an earlier one.
#[track_caller]
pub(crate) fn check_replayed(case: impl fmt::Display, again: &proto::CommitResult, first: &proto::CommitResult) {
    let expected = proto::CommitResult { replayed: true, ..first.clone() };
    assert_eq!(*again, expected, "{case}");
}
