//! Commands of callers to the writer. Later reads of the request include what they commit.

use std::time::Duration;

use domain::{AgentId, CommitId, ConversationId, Timestamp};
use tonic::{Code, Response, Status};
use wire::proto::operate::v1::registry_service_client::RegistryServiceClient;
use wire::proto::write::v1::write_service_client::WriteServiceClient;
use wire::proto::write::v1::{
    AppendEventsRequest, AppendEventsResponse, ArchiveConversationRequest, ArchiveConversationResponse,
    ChangeOwnerRequest, ChangeOwnerResponse, CommandTarget, CommitResult, CreateConversationRequest,
    CreateConversationResponse, EraseConversationRequest, EraseConversationResponse, RestoreConversationRequest,
    RestoreConversationResponse, UpdateConversationRequest, UpdateConversationResponse,
};
use wire::status::{Problem, Reason};

use crate::positions::record_write;
use crate::problem::RETRY_AFTER;
use crate::request::Call;
use crate::writer::{WriterClient, WriterService};

/// The longest wait for the writer: shorter than the timeout of a request, so that the caller gets the result.
pub const COMMAND_MAX: Duration = Duration::from_secs(8);

/// Calls of the registry under a token.
pub type RegistryClient = RegistryServiceClient<WriterService>;

/// Commands to the writer. Clones share one connection.
#[derive(Debug, Clone)]
pub struct Commands(WriterClient);

/// Whose token a command has.
#[derive(Debug, Clone, Copy)]
pub enum Issuer<'call> {
    /// The gateway's, for every tenant: the caller has been authorized before.
    Gateway,
    /// The caller's own service token: the writer authorizes it.
    Service(&'call Call),
}

/// A command that changes one conversation.
pub trait Command {
    /// The writer's answer.
    type Answer: Commit;

    /// Sends it to the writer.
    fn send(
        self,
        writer: WriteServiceClient<WriterService>,
    ) -> impl Future<Output = Result<Response<Self::Answer>, Status>> + Send;
}

/// An answer with the result of a commit.
pub trait Commit {
    /// The result.
    fn result(&self) -> Option<&CommitResult>;
}

/// Each command with its call and its answer.
macro_rules! commands {
    ($($request:ident, $call:ident, $answer:ident;)+) => {$(
        impl Command for $request {
            type Answer = $answer;

            async fn send(self, mut writer: WriteServiceClient<WriterService>) -> Result<Response<$answer>, Status> {
                writer.$call(self).await
            }
        }

        impl Commit for $answer {
            fn result(&self) -> Option<&CommitResult> {
                self.result.as_ref()
            }
        }
    )+};
}

commands! {
    CreateConversationRequest, create_conversation, CreateConversationResponse;
    AppendEventsRequest, append_events, AppendEventsResponse;
    UpdateConversationRequest, update_conversation, UpdateConversationResponse;
    ArchiveConversationRequest, archive_conversation, ArchiveConversationResponse;
    RestoreConversationRequest, restore_conversation, RestoreConversationResponse;
    ChangeOwnerRequest, change_owner, ChangeOwnerResponse;
    EraseConversationRequest, erase_conversation, EraseConversationResponse;
}

impl Commands {
    /// Commands through this client.
    #[must_use]
    pub fn new(writer: WriterClient) -> Self {
        Self(writer)
    }

    /// Sends a command and returns the result of its commit.
    ///
    /// # Errors
    /// The writer's rejection; `WRITER_UNAVAILABLE` if it rejects the gateway's own token; or it does not answer within [`COMMAND_MAX`]
    /// or the caller's deadline.
    pub async fn send(&self, issuer: Issuer<'_>, command: impl Command) -> Result<CommitResult, Problem> {
        let answer = self.answer(issuer, command).await?;
        Ok(answer.result().cloned().unwrap_or_default())
    }

    /// Erases a conversation. Returns the number of commits that are not overwritten yet.
    ///
    /// # Errors
    /// As [`Commands::send`].
    pub async fn erase(&self, issuer: Issuer<'_>, command: EraseConversationRequest) -> Result<u64, Problem> {
        let answer = self.answer(issuer, command).await?;
        Ok(answer.pending_commits)
    }

    async fn answer<C: Command>(&self, issuer: Issuer<'_>, command: C) -> Result<C::Answer, Problem> {
        let answer = match issuer {
            Issuer::Gateway => command.send(self.0.write(COMMAND_MAX)).await.map_err(own_problem),
            Issuer::Service(call) => command.send(self.0.write_for(call)).await.map_err(Problem::from),
        };
        let answer = answer?.into_inner();
        if let Some(result) = answer.result() {
            record_write(&result.position_token);
        }
        Ok(answer)
    }

    /// The registry under the gateway's own token. [`own_problem`] converts its errors.
    #[must_use]
    pub fn registry(&self) -> RegistryClient {
        self.0.registry(COMMAND_MAX)
    }

    /// The registry under the session token of a person of the dashboard.
    #[must_use]
    pub fn registry_for(&self, session_token: &str) -> RegistryClient {
        self.0.registry_for(session_token, COMMAND_MAX)
    }
}

/// The target of a command, at any version, with its idempotency key.
#[must_use]
pub fn command_target(agent: &AgentId, conversation: &ConversationId, key: Option<CommitId>) -> CommandTarget {
    CommandTarget {
        agent_id: agent.to_string(),
        conversation_id: conversation.to_string(),
        idempotency_key: key_text(key),
        expected_version: None,
    }
}

/// An idempotency key as commands have it; empty: none.
#[must_use]
pub fn key_text(key: Option<CommitId>) -> String {
    key.map(|key| key.to_string()).unwrap_or_default()
}

/// When a commit was recorded; `None`: nothing was.
#[must_use]
pub fn recorded_at(commit: &CommitResult) -> Option<Timestamp> {
    commit.recorded_at.and_then(|at| wire::time::from_proto(at).ok())
}

/// The problem of a call under the gateway's own token. Callers do not see errors about that token.
#[must_use]
pub fn own_problem(status: Status) -> Problem {
    if !matches!(status.code(), Code::Unauthenticated | Code::PermissionDenied) {
        return status.into();
    }
    tracing::error!(code = ?status.code(), "the writer rejects the gateway's own token: set `writer_token`");
    let message = "the gateway cannot reach the writer: try again later";
    Problem::new(Reason::WriterUnavailable, message).retry_after(RETRY_AFTER)
}
