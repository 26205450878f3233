//! The gRPC services, one file an rpc.

mod append_events;
mod append_stream;
mod archive_conversation;
mod change_owner;
mod create_conversation;
mod erase_conversation;
mod registry;
mod restore_conversation;
mod runs;
mod update_conversation;

use tonic::{Request, Response, Status};
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::write_service_server::WriteService;
use wire::status::Problem;

pub use append_stream::Streams;
pub use registry::RegistryRpc;
pub use runs::RunRpc;

use crate::Writer;
use crate::commit::commit;
use crate::intent::Intent;
use crate::problem;

/// The write service over gRPC.
#[derive(Debug, Clone)]
pub struct WriteRpc {
    writer: Writer,
    streams: Streams,
}

impl WriteRpc {
    /// The service of a writer.
    #[must_use]
    pub fn new(writer: Writer, streams: Streams) -> Self {
        Self { writer, streams }
    }
}

/// Takes a place in the conversation's queue and carries the intent out.
async fn carry_out(writer: &Writer, intent: Intent) -> Result<proto::CommitResult, Problem> {
    let place = writer
        .queues
        .enter(&intent.key)
        .map_err(problem::of_queue)?;
    commit(writer, intent, place).await
}

#[tonic::async_trait]
impl WriteService for WriteRpc {
    type AppendStreamStream = append_stream::Responses;

    async fn create_conversation(
        &self,
        request: Request<proto::CreateConversationRequest>,
    ) -> Result<Response<proto::CreateConversationResponse>, Status> {
        create_conversation::handle(&self.writer, request).await
    }

    async fn append_events(
        &self,
        request: Request<proto::AppendEventsRequest>,
    ) -> Result<Response<proto::AppendEventsResponse>, Status> {
        append_events::handle(&self.writer, request).await
    }

    async fn append_stream(
        &self,
        request: Request<tonic::Streaming<proto::AppendStreamRequest>>,
    ) -> Result<Response<Self::AppendStreamStream>, Status> {
        Ok(append_stream::handle(&self.writer, &self.streams, request))
    }

    async fn update_conversation(
        &self,
        request: Request<proto::UpdateConversationRequest>,
    ) -> Result<Response<proto::UpdateConversationResponse>, Status> {
        update_conversation::handle(&self.writer, request).await
    }

    async fn archive_conversation(
        &self,
        request: Request<proto::ArchiveConversationRequest>,
    ) -> Result<Response<proto::ArchiveConversationResponse>, Status> {
        archive_conversation::handle(&self.writer, request).await
    }

    async fn restore_conversation(
        &self,
        request: Request<proto::RestoreConversationRequest>,
    ) -> Result<Response<proto::RestoreConversationResponse>, Status> {
        restore_conversation::handle(&self.writer, request).await
    }

    async fn change_owner(
        &self,
        request: Request<proto::ChangeOwnerRequest>,
    ) -> Result<Response<proto::ChangeOwnerResponse>, Status> {
        change_owner::handle(&self.writer, request).await
    }

    async fn erase_conversation(
        &self,
        request: Request<proto::EraseConversationRequest>,
    ) -> Result<Response<proto::EraseConversationResponse>, Status> {
        erase_conversation::handle(&self.writer, request).await
    }
}
