//! The read and the audit service over gRPC, one file per rpc; and the write service, which the writer executes.

mod assemble_context;
mod forwarded_writes;
mod get_conversation;
mod list_conversations;
mod list_events;
mod search_conversations;
mod watch_audit_log;
mod watch_conversation;

use tonic::{Request, Response, Status};
use wire::proto::operate::v1::WatchAuditLogRequest;
use wire::proto::operate::v1::audit_service_server::AuditService;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::read_service_server::ReadService;

pub(crate) use forwarded_writes::ForwardedWrites;

pub use conversations::listing::{CONVERSATIONS_PAGE, CONVERSATIONS_PAGE_BYTES_MAX};
pub use conversations::request::POSITION_TOKENS_MAX;
pub use list_events::{EVENTS_PAGE, EVENTS_PAGE_BYTES_MAX};
pub use watch_audit_log::AuditResponses;
pub use watch_conversation::Responses;

use conversations::Gateway;

/// The read and the audit service over gRPC.
#[derive(Debug, Clone)]
pub struct ReadRpc(Gateway);

impl ReadRpc {
    /// The services of a gateway.
    #[must_use]
    pub fn new(gateway: Gateway) -> Self {
        Self(gateway)
    }
}

#[tonic::async_trait]
impl ReadService for ReadRpc {
    type WatchConversationStream = Responses;

    async fn get_conversation(
        &self,
        request: Request<proto::GetConversationRequest>,
    ) -> Result<Response<proto::GetConversationResponse>, Status> {
        get_conversation::handle(&self.0, request).await
    }

    async fn list_conversations(
        &self,
        request: Request<proto::ListConversationsRequest>,
    ) -> Result<Response<proto::ListConversationsResponse>, Status> {
        list_conversations::handle(&self.0, request).await
    }

    async fn search_conversations(
        &self,
        request: Request<proto::SearchConversationsRequest>,
    ) -> Result<Response<proto::SearchConversationsResponse>, Status> {
        search_conversations::handle(&self.0, request).await
    }

    async fn list_events(
        &self,
        request: Request<proto::ListEventsRequest>,
    ) -> Result<Response<proto::ListEventsResponse>, Status> {
        list_events::handle(&self.0, request).await
    }

    async fn assemble_context(
        &self,
        request: Request<proto::AssembleContextRequest>,
    ) -> Result<Response<proto::AssembleContextResponse>, Status> {
        assemble_context::handle(&self.0, request).await
    }

    async fn watch_conversation(
        &self,
        request: Request<proto::WatchConversationRequest>,
    ) -> Result<Response<Responses>, Status> {
        watch_conversation::handle(&self.0, request).await
    }
}

#[tonic::async_trait]
impl AuditService for ReadRpc {
    type WatchAuditLogStream = AuditResponses;

    async fn watch_audit_log(
        &self,
        request: Request<WatchAuditLogRequest>,
    ) -> Result<Response<AuditResponses>, Status> {
        watch_audit_log::handle(&self.0, request).await
    }
}
