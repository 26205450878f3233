//! Somebody who acts for one agent: the everyday calls of a test, over the wire.
//!
//! `try_…` gives the outcome as it came; the others fail the test unless they succeed.

use prost_types::FieldMask;
use tonic::{Code, Status};
use wire::proto::event::v1 as event;
use wire::proto::read::v1 as read;
use wire::proto::write::v1 as write;

use crate::client::Caller;
use crate::events::session;
use crate::eventually::eventually;

/// What became of a command.
pub type Outcome = Result<write::CommitResult, Status>;

/// A caller and the agent that it acts for.
#[derive(Debug, Clone)]
pub struct Agent {
    caller: Caller,
    id: String,
}

impl Agent {
    /// This caller, acting for this agent.
    #[must_use]
    pub fn new(caller: Caller, id: &str) -> Self {
        Self { caller, id: id.to_owned() }
    }

    /// The agent's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Who calls.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The target of a command without key and expectation.
    #[must_use]
    pub fn target(&self, conversation: &str) -> write::CommandTarget {
        write::CommandTarget {
            agent_id: self.id.clone(),
            conversation_id: conversation.to_owned(),
            ..write::CommandTarget::default()
        }
    }

    /// A request to begin a conversation of the session `s`.
    #[must_use]
    pub fn create_request(&self, conversation: &str) -> write::CreateConversationRequest {
        write::CreateConversationRequest {
            agent_id: self.id.clone(),
            conversation_id: conversation.to_owned(),
            owner: Some(session("s")),
            ..write::CreateConversationRequest::default()
        }
    }

    /// A request to append.
    #[must_use]
    pub fn append_request(
        &self,
        conversation: &str,
        events: Vec<event::Event>,
    ) -> write::AppendEventsRequest {
        write::AppendEventsRequest { target: Some(self.target(conversation)), events }
    }

    /// A request to change the named fields; their values are to be set.
    #[must_use]
    pub fn update_request(
        &self,
        conversation: &str,
        paths: &[&str],
    ) -> write::UpdateConversationRequest {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        write::UpdateConversationRequest {
            target: Some(self.target(conversation)),
            update_mask: Some(FieldMask { paths }),
            ..write::UpdateConversationRequest::default()
        }
    }

    /// What to read, fresh.
    #[must_use]
    pub fn read_target(&self, conversation: &str) -> read::ReadTarget {
        read::ReadTarget {
            agent_id: self.id.clone(),
            conversation_id: conversation.to_owned(),
            ..read::ReadTarget::default()
        }
    }

    /// What to read, as the read model has it.
    #[must_use]
    pub fn eventual_target(&self, conversation: &str) -> read::ReadTarget {
        read::ReadTarget {
            consistency: read::Consistency::Eventual.into(),
            ..self.read_target(conversation)
        }
    }

    /// A request for events, all of them, oldest first.
    #[must_use]
    pub fn list_request(&self, conversation: &str) -> read::ListEventsRequest {
        read::ListEventsRequest {
            target: Some(self.read_target(conversation)),
            ..read::ListEventsRequest::default()
        }
    }

    /// Begins a conversation.
    ///
    /// # Errors
    /// What the service answers.
    pub async fn try_create(&self, request: write::CreateConversationRequest) -> Outcome {
        let answer = self.caller.write().create_conversation(request).await?;
        Ok(answer.into_inner().result.expect("a result"))
    }

    /// Appends.
    ///
    /// # Errors
    /// What the service answers.
    pub async fn try_append(&self, request: write::AppendEventsRequest) -> Outcome {
        let answer = self.caller.write().append_events(request).await?;
        Ok(answer.into_inner().result.expect("a result"))
    }

    /// Changes title, metadata or provider ids.
    ///
    /// # Errors
    /// What the service answers.
    pub async fn try_update(&self, request: write::UpdateConversationRequest) -> Outcome {
        let answer = self.caller.write().update_conversation(request).await?;
        Ok(answer.into_inner().result.expect("a result"))
    }

    /// Archives.
    ///
    /// # Errors
    /// What the service answers.
    pub async fn try_archive(&self, target: write::CommandTarget) -> Outcome {
        let request = write::ArchiveConversationRequest { target: Some(target) };
        let answer = self.caller.write().archive_conversation(request).await?;
        Ok(answer.into_inner().result.expect("a result"))
    }

    /// Restores.
    ///
    /// # Errors
    /// What the service answers.
    pub async fn try_restore(&self, target: write::CommandTarget) -> Outcome {
        let request = write::RestoreConversationRequest { target: Some(target) };
        let answer = self.caller.write().restore_conversation(request).await?;
        Ok(answer.into_inner().result.expect("a result"))
    }

    /// Erases.
    ///
    /// # Errors
    /// What the service answers.
    pub async fn try_erase(&self, target: write::CommandTarget) -> Outcome {
        let request = write::EraseConversationRequest { target: Some(target) };
        let answer = self.caller.write().erase_conversation(request).await?;
        Ok(answer.into_inner().result.expect("a result"))
    }

    /// Reads a conversation.
    ///
    /// # Errors
    /// What the service answers.
    pub async fn try_get(
        &self,
        target: read::ReadTarget,
    ) -> Result<read::GetConversationResponse, Status> {
        let request = read::GetConversationRequest { target: Some(target) };
        Ok(self.caller.read().get_conversation(request).await?.into_inner())
    }

    /// Reads a page of events.
    ///
    /// # Errors
    /// What the service answers.
    pub async fn try_events(
        &self,
        request: read::ListEventsRequest,
    ) -> Result<read::ListEventsResponse, Status> {
        Ok(self.caller.read().list_events(request).await?.into_inner())
    }

    /// Assembles a context.
    ///
    /// # Errors
    /// What the service answers.
    pub async fn try_context(
        &self,
        target: read::ReadTarget,
        messages_max: u32,
    ) -> Result<read::AssembleContextResponse, Status> {
        let request = read::AssembleContextRequest { target: Some(target), messages_max };
        Ok(self.caller.read().assemble_context(request).await?.into_inner())
    }

    /// Reads a page of conversations.
    ///
    /// # Errors
    /// What the service answers.
    pub async fn try_conversations(
        &self,
        request: read::ListConversationsRequest,
    ) -> Result<read::ListConversationsResponse, Status> {
        Ok(self.caller.read().list_conversations(request).await?.into_inner())
    }

    /// Begins a conversation of the session `s`.
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
    pub async fn append(
        &self,
        conversation: &str,
        events: Vec<event::Event>,
    ) -> write::CommitResult {
        self.try_append(self.append_request(conversation, events)).await.expect("a commit")
    }

    /// A conversation, fresh.
    ///
    /// # Panics
    /// When it fails.
    pub async fn conversation(&self, conversation: &str) -> read::Conversation {
        let answer = self.try_get(self.read_target(conversation)).await.expect("a conversation");
        answer.conversation.expect("a conversation")
    }

    /// The fresh version of a conversation; 0 when it is not there.
    ///
    /// # Panics
    /// When it cannot be read.
    pub async fn version(&self, conversation: &str) -> u64 {
        match self.try_get(self.read_target(conversation)).await {
            Ok(answer) => answer.conversation.expect("a conversation").version,
            Err(status) if status.code() == Code::NotFound => 0,
            Err(status) => panic!("the version of {conversation}: {status:?}"),
        }
    }

    /// The context of a conversation, fresh.
    ///
    /// # Panics
    /// When it fails.
    pub async fn context(
        &self,
        conversation: &str,
        messages_max: u32,
    ) -> read::AssembleContextResponse {
        let target = self.read_target(conversation);
        self.try_context(target, messages_max).await.expect("a context")
    }

    /// All events that a request stands for, page after page.
    ///
    /// # Panics
    /// When it fails, or a page is empty and not the last.
    pub async fn events(&self, mut request: read::ListEventsRequest) -> Vec<read::RecordedEvent> {
        let mut events = Vec::new();
        loop {
            let page = self.try_events(request.clone()).await.expect("a page of events");
            assert!(!page.events.is_empty() || page.next_page_token.is_empty(), "an empty page");
            events.extend(page.events);
            if page.next_page_token.is_empty() {
                return events;
            }
            request.page_token = page.next_page_token;
        }
    }

    /// All conversations that a request stands for, page after page.
    ///
    /// # Panics
    /// When it fails, or a page is empty and not the last.
    pub async fn conversations(
        &self,
        mut request: read::ListConversationsRequest,
    ) -> Vec<read::Conversation> {
        let mut conversations = Vec::new();
        loop {
            let page = self.try_conversations(request.clone()).await.expect("a page");
            let is_last = page.next_page_token.is_empty();
            assert!(is_last || !page.conversations.is_empty(), "an empty page");
            conversations.extend(page.conversations);
            if is_last {
                return conversations;
            }
            request.page_token = page.next_page_token;
        }
    }

    /// Waits until the read model holds a version of a conversation.
    ///
    /// # Panics
    /// When it does not in time.
    pub async fn projected(&self, conversation: &str, version: u64) {
        let target = self.eventual_target(conversation);
        let what = format!("version {version} of {conversation} in the read model");
        eventually(&what, || async {
            let answer = self.try_get(target.clone()).await.ok()?;
            (answer.conversation?.version >= version).then_some(())
        })
        .await;
    }
}
