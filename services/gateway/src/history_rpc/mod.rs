//! The history service over gRPC: histories under a caller's key. One file per rpc.
//!
//! Failures of the store are warnings, so that the caller can continue with its own messages. The crate `keyed_history`
//! decides which keys are valid and which messages are new. Appends go to the writer under the caller's own token.

mod append;
mod load_history;
mod messages;
mod record_error;
mod record_history;
mod resolved_key;
pub mod stored_history;
mod warning;

use tonic::{Request, Response, Status};
use wire::proto::history::v1 as proto;
use wire::proto::history::v1::history_service_server::HistoryService;

pub use load_history::MESSAGES;
pub use messages::CURRENT_MESSAGES_MAX;

use crate::Gateway;
use crate::writer::WriterClient;

/// The history service over gRPC.
#[derive(Debug, Clone)]
pub struct HistoryRpc {
    gateway: Gateway,
    writer: WriterClient,
}

impl HistoryRpc {
    /// The service of a gateway; `writer` records messages.
    #[must_use]
    pub fn new(gateway: Gateway, writer: WriterClient) -> Self {
        Self { gateway, writer }
    }
}

#[tonic::async_trait]
impl HistoryService for HistoryRpc {
    async fn load_history(
        &self,
        request: Request<proto::LoadHistoryRequest>,
    ) -> Result<Response<proto::LoadHistoryResponse>, Status> {
        load_history::handle(&self.gateway, request).await
    }

    async fn record_history(
        &self,
        request: Request<proto::RecordHistoryRequest>,
    ) -> Result<Response<proto::RecordHistoryResponse>, Status> {
        record_history::handle(self, request).await
    }
}
