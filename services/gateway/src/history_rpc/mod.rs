//! The history service over gRPC, one file an rpc: history by a caller's key, which never stands in the caller's way.
//!
//! What a key is and what is new are decided in `keyed_history`, which is pure. Reads go the way of every read; what is new
//! goes to the writer under the caller's own token, as the gateway appends nothing.

mod append;
mod asked;
mod kept;
mod load_history;
mod messages;
mod record_history;
mod setback;
pub mod stored;
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
    /// The service of a gateway, which records by this writer.
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
