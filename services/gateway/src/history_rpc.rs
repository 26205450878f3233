//! The history service over gRPC: histories under a caller's key. One file per rpc.
//!
//! Keys are computed from the caller's templates and variables. `keyed_histories` reads and records.

mod load_history;
mod record_history;
mod resolved_key;

use tonic::{Request, Response, Status};
use wire::proto::history::v1 as proto;
use wire::proto::history::v1::history_service_server::HistoryService;

use conversations::Gateway;
use conversations::commands::Commands;
use conversations::keyed_histories::Warning;

/// The history service over gRPC.
#[derive(Debug, Clone)]
pub struct HistoryRpc {
    gateway: Gateway,
    commands: Commands,
}

impl HistoryRpc {
    /// The service of a gateway; `commands` record messages.
    #[must_use]
    pub fn new(gateway: Gateway, commands: Commands) -> Self {
        Self { gateway, commands }
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

/// Warnings for answers.
fn warnings(warning: Option<Warning>) -> Vec<proto::HistoryWarning> {
    let warnings = warning.into_iter().map(|warning| proto::HistoryWarning {
        code: warning.code().to_owned(),
        message: warning.message().to_owned(),
    });
    warnings.collect()
}
