//! Commands to the writer: for frontends and administrators with the gateway's own token, for back ends with theirs.

mod field_names;

use std::time::Duration;

use axum::http::StatusCode;
use runtime::grpc::Authenticated;
use runtime::http::HttpProblem;
use tonic::{Code, Status};
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::CommitResult;
use wire::proto::write::v1::write_service_client::WriteServiceClient;

use crate::http::{positions, problem};
use crate::request::Call;
use crate::writer::WriterClient;

/// The longest wait for the writer: shorter than the timeout of a request, so that the caller gets the result.
pub const COMMAND_MAX: Duration = Duration::from_secs(8);

/// A client of the writer. Under the gateway's own token, handlers authorize the caller first; under a caller's token, the
/// writer does. Clones share one connection.
///
/// Each command fails with the writer's error, with fields named as HTTP callers know them, or with 503 if the writer
/// does not answer within [`COMMAND_MAX`].
#[derive(Debug, Clone)]
pub struct Commands {
    writer: WriterClient,
    /// The caller, if their own token authorizes the commands.
    caller: Option<Call>,
}

#[expect(
    clippy::missing_errors_doc,
    reason = "every command fails in the same ways, see `Commands`"
)]
impl Commands {
    /// Commands with a token that has the scopes append and read, for any tenant.
    #[must_use]
    pub fn new(writer: WriterClient) -> Self {
        Self {
            writer,
            caller: None,
        }
    }

    /// Commands with the token of a caller.
    #[must_use]
    pub fn under(&self, caller: &Call) -> Self {
        Self {
            writer: self.writer.clone(),
            caller: Some(caller.clone()),
        }
    }

    /// Appends events as one commit.
    pub async fn append(
        &self,
        request: proto::AppendEventsRequest,
    ) -> Result<CommitResult, HttpProblem> {
        let answer = self.write().append_events(request).await;
        self.result(answer.map(|answer| answer.into_inner().result))
    }

    /// Creates a conversation.
    pub async fn create(
        &self,
        request: proto::CreateConversationRequest,
    ) -> Result<CommitResult, HttpProblem> {
        let answer = self.write().create_conversation(request).await;
        self.result(answer.map(|answer| answer.into_inner().result))
    }

    /// Changes title or metadata.
    pub async fn update(
        &self,
        request: proto::UpdateConversationRequest,
    ) -> Result<CommitResult, HttpProblem> {
        let answer = self.write().update_conversation(request).await;
        self.result(answer.map(|answer| answer.into_inner().result))
    }

    /// Archives a conversation: it accepts no more events.
    pub async fn archive(
        &self,
        request: proto::ArchiveConversationRequest,
    ) -> Result<CommitResult, HttpProblem> {
        let answer = self.write().archive_conversation(request).await;
        self.result(answer.map(|answer| answer.into_inner().result))
    }

    /// Restores an archived conversation.
    pub async fn restore(
        &self,
        request: proto::RestoreConversationRequest,
    ) -> Result<CommitResult, HttpProblem> {
        let answer = self.write().restore_conversation(request).await;
        self.result(answer.map(|answer| answer.into_inner().result))
    }

    /// Erases a conversation. Returns the number of its commits that are not overwritten yet.
    pub async fn erase(
        &self,
        request: proto::EraseConversationRequest,
    ) -> Result<u64, HttpProblem> {
        let answer = self.write().erase_conversation(request).await;
        let answer = answer.map_err(|status| self.problem(&status))?.into_inner();
        self.result(Ok(answer.result))?;
        Ok(answer.pending_commits)
    }

    /// Changes the owner of a conversation.
    pub async fn change_owner(
        &self,
        request: proto::ChangeOwnerRequest,
    ) -> Result<CommitResult, HttpProblem> {
        let answer = self.write().change_owner(request).await;
        self.result(answer.map(|answer| answer.into_inner().result))
    }

    fn write(&self) -> WriteServiceClient<Authenticated> {
        match &self.caller {
            Some(caller) => self.writer.write_for(caller),
            None => self.writer.write(COMMAND_MAX),
        }
    }

    /// The writer's result. Later reads of the request include the commit.
    fn result(
        &self,
        answer: Result<Option<CommitResult>, Status>,
    ) -> Result<CommitResult, HttpProblem> {
        let result = answer.map_err(|status| self.problem(&status))?;
        let result = result.unwrap_or_default();
        positions::record_write(&result.position_token);
        Ok(result)
    }

    fn problem(&self, status: &Status) -> HttpProblem {
        match self.caller {
            Some(_) => field_names::with_callers_field(problem::from_status(status)),
            None => problem_from_status(status),
        }
    }
}

/// Errors about the gateway's own token are not passed on to callers.
pub(in crate::http) fn problem_from_status(status: &Status) -> HttpProblem {
    if matches!(
        status.code(),
        Code::Unauthenticated | Code::PermissionDenied
    ) {
        tracing::error!(code = ?status.code(), "the writer rejects the gateway's own token: set `writer_token`");
        let detail = "the gateway cannot reach the writer: try again later";
        return HttpProblem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "WRITER_UNAVAILABLE",
            detail,
        )
        .retry_after(crate::problem::RETRY_AFTER);
    }
    field_names::with_callers_field(problem::from_status(status))
}
