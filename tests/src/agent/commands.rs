//! The commands of an agent's caller.

use tonic::Status;
use wire::proto::event::v1 as event;
use wire::proto::write::v1 as write;

use super::Agent;

/// The result of a command.
pub type Outcome = Result<write::CommitResult, Status>;

/// The result in an answer; every answer has one.
pub(super) fn of(result: Option<write::CommitResult>) -> write::CommitResult {
    result.expect("a result")
}

impl Agent {
    /// Creates a conversation.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_create(&self, request: write::CreateConversationRequest) -> Outcome {
        let answer = self.caller.write().create_conversation(request).await?;
        Ok(of(answer.into_inner().result))
    }

    /// Appends.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_append(&self, request: write::AppendEventsRequest) -> Outcome {
        let answer = self.caller.write().append_events(request).await?;
        Ok(of(answer.into_inner().result))
    }

    /// Changes title, metadata or provider ids.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_update(&self, request: write::UpdateConversationRequest) -> Outcome {
        let answer = self.caller.write().update_conversation(request).await?;
        Ok(of(answer.into_inner().result))
    }

    /// Archives.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_archive(&self, target: write::CommandTarget) -> Outcome {
        let request = write::ArchiveConversationRequest { target: Some(target) };
        let answer = self.caller.write().archive_conversation(request).await?;
        Ok(of(answer.into_inner().result))
    }

    /// Restores.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_restore(&self, target: write::CommandTarget) -> Outcome {
        let request = write::RestoreConversationRequest { target: Some(target) };
        let answer = self.caller.write().restore_conversation(request).await?;
        Ok(of(answer.into_inner().result))
    }

    /// Erases without a check for forks, so that it also works while the projector is stopped.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_erase(&self, target: write::CommandTarget) -> Outcome {
        self.try_erase_by(target, write::ForkRule::Sever).await
    }

    /// Erases, with a rule for forks.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_erase_by(&self, target: write::CommandTarget, forks: write::ForkRule) -> Outcome {
        let request =
            write::EraseConversationRequest { target: Some(target), expected_owner: None, forks: forks.into() };
        let answer = self.caller.write().erase_conversation(request).await?;
        Ok(of(answer.into_inner().result))
    }

    /// Creates a conversation of the session `s`.
    ///
    /// # Panics
    /// When it fails.
    pub async fn create(&self, conversation: &str) -> write::CommitResult {
        self.try_create(self.create_request(conversation)).await.expect("a new conversation")
    }

    /// Appends events.
    ///
    /// # Panics
    /// When it fails.
    pub async fn append(&self, conversation: &str, events: Vec<event::Event>) -> write::CommitResult {
        self.try_append(self.append_request(conversation, events)).await.expect("a commit")
    }
}
