//! The reads of an agent's caller.

use tonic::{Code, Status};
use wire::proto::read::v1 as read;

use super::Agent;
use crate::eventually::eventually;

impl Agent {
    /// Reads a conversation.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_get(&self, target: read::ReadTarget) -> Result<read::GetConversationResponse, Status> {
        let request = read::GetConversationRequest { target: Some(target) };
        Ok(self.caller.read().get_conversation(request).await?.into_inner())
    }

    /// Reads a page of events.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_events(&self, request: read::ListEventsRequest) -> Result<read::ListEventsResponse, Status> {
        Ok(self.caller.read().list_events(request).await?.into_inner())
    }

    /// Assembles a context.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_context(
        &self,
        target: read::ReadTarget,
        messages_max: u32,
    ) -> Result<read::AssembleContextResponse, Status> {
        let request = read::AssembleContextRequest {
            target: Some(target),
            messages_max,
            ..read::AssembleContextRequest::default()
        };
        Ok(self.caller.read().assemble_context(request).await?.into_inner())
    }

    /// Reads a page of conversations.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_conversations(
        &self,
        request: read::ListConversationsRequest,
    ) -> Result<read::ListConversationsResponse, Status> {
        Ok(self.caller.read().list_conversations(request).await?.into_inner())
    }

    /// A conversation, fresh.
    ///
    /// # Panics
    /// When it fails.
    pub async fn conversation(&self, conversation: &str) -> read::Conversation {
        let answer = self.try_get(self.read_target(conversation)).await.expect("a conversation");
        answer.conversation.expect("a conversation")
    }

    /// The fresh version of a conversation; 0 when there is none.
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
    pub async fn context(&self, conversation: &str, messages_max: u32) -> read::AssembleContextResponse {
        let target = self.read_target(conversation);
        self.try_context(target, messages_max).await.expect("a context")
    }

    /// All events of a request, page after page.
    ///
    /// # Panics
    /// When a read fails, or a page other than the last is empty.
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

    /// All conversations of a request, page after page.
    ///
    /// # Panics
    /// When a read fails, or a page other than the last is empty.
    pub async fn conversations(&self, mut request: read::ListConversationsRequest) -> Vec<read::Conversation> {
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

    /// Waits until the read model has a version of a conversation.
    ///
    /// # Panics
    /// When it does not have it in time.
    pub async fn wait_for_rows(&self, conversation: &str, version: u64) {
        let target = self.eventual_target(conversation);
        let what = format!("version {version} of {conversation} in the read model");
        eventually(&what, || async {
            let answer = self.try_get(target.clone()).await.ok()?;
            (answer.conversation?.version >= version).then_some(())
        })
        .await;
    }
}
