//! What the gateway asks the writer for frontends: under its own token, since they have none that a writer knows.

use std::time::Duration;

use axum::http::StatusCode;
use runtime::grpc::Authenticated;
use runtime::http::HttpProblem;
use tonic::{Code, Status};
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::CommitResult;
use wire::proto::write::v1::write_service_client::WriteServiceClient;

use super::{field_names, positions, problem};
use crate::writer::WriterClient;

/// The longest wait for the writer: less than a request may take, so that the caller hears what became of it.
pub const COMMAND_MAX: Duration = Duration::from_secs(8);

/// The writer under the gateway's own token. Whether the caller may is checked before. Clones share one connection.
///
/// Each command fails with what the writer says, its fields named as HTTP callers know them, or with 503 where it does
/// not answer within [`COMMAND_MAX`].
#[derive(Debug, Clone)]
pub struct Commands {
    writer: WriterClient,
}

impl Commands {
    /// Commands to a writer under a token with the scopes append and read, for any tenant.
    #[must_use]
    pub fn new(writer: WriterClient) -> Self {
        Self { writer }
    }

    /// Begins a conversation.
    ///
    /// # Errors
    /// See [`Commands`].
    pub async fn create(
        &self,
        request: proto::CreateConversationRequest,
    ) -> Result<CommitResult, HttpProblem> {
        let answer = self.write().create_conversation(request).await;
        answered(answer.map(|answer| answer.into_inner().result))
    }

    /// Changes title or metadata.
    ///
    /// # Errors
    /// See [`Commands`].
    pub async fn update(
        &self,
        request: proto::UpdateConversationRequest,
    ) -> Result<CommitResult, HttpProblem> {
        let answer = self.write().update_conversation(request).await;
        answered(answer.map(|answer| answer.into_inner().result))
    }

    /// Closes a conversation for events.
    ///
    /// # Errors
    /// See [`Commands`].
    pub async fn archive(
        &self,
        request: proto::ArchiveConversationRequest,
    ) -> Result<CommitResult, HttpProblem> {
        let answer = self.write().archive_conversation(request).await;
        answered(answer.map(|answer| answer.into_inner().result))
    }

    /// Opens an archived conversation again.
    ///
    /// # Errors
    /// See [`Commands`].
    pub async fn restore(
        &self,
        request: proto::RestoreConversationRequest,
    ) -> Result<CommitResult, HttpProblem> {
        let answer = self.write().restore_conversation(request).await;
        answered(answer.map(|answer| answer.into_inner().result))
    }

    /// Erases a conversation for good; how many of its commits are not overwritten yet.
    ///
    /// # Errors
    /// See [`Commands`].
    pub async fn erase(
        &self,
        request: proto::EraseConversationRequest,
    ) -> Result<u64, HttpProblem> {
        let answer = self.write().erase_conversation(request).await;
        let answer = answer.map_err(|status| refused(&status))?.into_inner();
        answered(Ok(answer.result))?;
        Ok(answer.pending_commits)
    }

    /// Makes a conversation someone else's.
    ///
    /// # Errors
    /// See [`Commands`].
    pub async fn change_owner(
        &self,
        request: proto::ChangeOwnerRequest,
    ) -> Result<CommitResult, HttpProblem> {
        let answer = self.write().change_owner(request).await;
        answered(answer.map(|answer| answer.into_inner().result))
    }

    fn write(&self) -> WriteServiceClient<Authenticated> {
        self.writer.write(COMMAND_MAX)
    }
}

/// What the writer answers; the request's later reads hold what it recorded.
fn answered(answer: Result<Option<CommitResult>, Status>) -> Result<CommitResult, HttpProblem> {
    let result = answer.map_err(|status| refused(&status))?;
    let result = result.unwrap_or_default();
    positions::wrote(&result.position_token);
    Ok(result)
}

/// What the writer says to the gateway's own token is not for the gateway's callers.
pub(super) fn refused(status: &Status) -> HttpProblem {
    if matches!(
        status.code(),
        Code::Unauthenticated | Code::PermissionDenied
    ) {
        tracing::error!(code = ?status.code(), "the writer refuses the gateway's own token: set `writer_token`");
        let detail = "the gateway cannot record for frontends now: try again later";
        return HttpProblem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "WRITER_UNAVAILABLE",
            detail,
        )
        .retry_after(crate::problem::RETRY_AFTER);
    }
    field_names::renamed(problem::of_status(status))
}
