//! Closes a conversation for events, and opens it again.

use domain::Action;

use super::{Problem, Request, Writer, execute_on, proto};
use crate::request::split;

pub(super) async fn archive(
    writer: &Writer,
    request: Request<proto::ArchiveConversationRequest>,
) -> Result<proto::CommitResult, Problem> {
    let (caller, digest, request) = split(request);
    execute_on(writer, &caller, request.target, digest, Action::Archive).await
}

pub(super) async fn restore(
    writer: &Writer,
    request: Request<proto::RestoreConversationRequest>,
) -> Result<proto::CommitResult, Problem> {
    let (caller, digest, request) = split(request);
    execute_on(writer, &caller, request.target, digest, Action::Restore).await
}
