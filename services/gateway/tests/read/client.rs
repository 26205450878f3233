//! A client of the read service.

use std::net::SocketAddr;
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status, Streaming};
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::read_service_client::ReadServiceClient;

use crate::author::Author;

/// The deadline of each wait.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// A client with a token. Clones share one connection.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    service: ReadServiceClient<Channel>,
    token: String,
}

impl Client {
    pub(crate) fn connect(addr: SocketAddr, token: &str) -> Self {
        let channel = Endpoint::from_shared(format!("http://{addr}")).unwrap().connect_lazy();
        Self {
            service: ReadServiceClient::new(channel).max_decoding_message_size(64 * 1024 * 1024),
            token: token.to_owned(),
        }
    }

    /// The same client with another token; empty: none.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self.clone() }
    }

    pub(crate) async fn get(
        &self,
        request: proto::GetConversationRequest,
    ) -> Result<proto::GetConversationResponse, Status> {
        let mut service = self.service.clone();
        let response = service.get_conversation(self.request(request)).await?;
        Ok(response.into_inner())
    }

    pub(crate) async fn list(
        &self,
        request: proto::ListConversationsRequest,
    ) -> Result<proto::ListConversationsResponse, Status> {
        let mut service = self.service.clone();
        let response = service.list_conversations(self.request(request)).await?;
        Ok(response.into_inner())
    }

    pub(crate) async fn events(&self, request: proto::ListEventsRequest) -> Result<proto::ListEventsResponse, Status> {
        let mut service = self.service.clone();
        let response = service.list_events(self.request(request)).await?;
        Ok(response.into_inner())
    }

    pub(crate) async fn context(
        &self,
        request: proto::AssembleContextRequest,
    ) -> Result<proto::AssembleContextResponse, Status> {
        self.context_within(request, DEADLINE).await
    }

    pub(crate) async fn context_within(
        &self,
        request: proto::AssembleContextRequest,
        deadline: Duration,
    ) -> Result<proto::AssembleContextResponse, Status> {
        let mut service = self.service.clone();
        let mut request = self.request(request);
        request.set_timeout(deadline);
        let response = service.assemble_context(request).await?;
        Ok(response.into_inner())
    }

    pub(crate) async fn watch(
        &self,
        request: proto::WatchConversationRequest,
    ) -> Result<Streaming<proto::WatchConversationResponse>, Status> {
        let mut service = self.service.clone();
        let response = service.watch_conversation(self.request(request)).await?;
        Ok(response.into_inner())
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if !self.token.is_empty() {
            let bearer = format!("Bearer {}", self.token).parse().unwrap();
            request.metadata_mut().insert("authorization", bearer);
        }
        request
    }
}

/// A fresh read of an author's conversation.
pub(crate) fn target(author: &Author<'_>) -> proto::ReadTarget {
    proto::ReadTarget {
        agent_id: author.agent.as_str().to_owned(),
        conversation_id: author.key.conversation.as_str().to_owned(),
        ..proto::ReadTarget::default()
    }
}

/// An eventual read of an author's conversation.
pub(crate) fn eventual(author: &Author<'_>) -> proto::ReadTarget {
    eventual_of(target(author))
}

pub(crate) fn eventual_of(target: proto::ReadTarget) -> proto::ReadTarget {
    proto::ReadTarget { consistency: proto::Consistency::Eventual.into(), ..target }
}

pub(crate) fn get_request(target: proto::ReadTarget) -> proto::GetConversationRequest {
    proto::GetConversationRequest { target: Some(target) }
}

pub(crate) fn context_request(target: proto::ReadTarget, messages_max: u32) -> proto::AssembleContextRequest {
    proto::AssembleContextRequest { target: Some(target), messages_max, ..proto::AssembleContextRequest::default() }
}

pub(crate) fn events_request(target: proto::ReadTarget) -> proto::ListEventsRequest {
    proto::ListEventsRequest { target: Some(target), ..proto::ListEventsRequest::default() }
}

pub(crate) fn watch_request(author: &Author<'_>, from_version: u64) -> proto::WatchConversationRequest {
    proto::WatchConversationRequest {
        agent_id: author.agent.as_str().to_owned(),
        conversation_id: author.key.conversation.as_str().to_owned(),
        from_version,
    }
}
