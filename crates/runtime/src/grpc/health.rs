//! `grpc.health.v1.Health`, answered from the health of the process.
//!
//! Source: <https://github.com/grpc/grpc/blob/master/doc/health-checking.md>.

use futures::stream::{BoxStream, StreamExt, unfold};
use tokio::sync::watch;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health as HealthRpc, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use crate::health::{Health, Snapshot};

/// Maximum size of a request, in bytes; it contains the name of a service.
const REQUEST_BYTES_MAX: usize = 4096;

/// The health service. Its answers are as recent as the last probe.
#[derive(Debug)]
pub(super) struct HealthService(Health);

pub(super) fn service(health: Health) -> HealthServer<HealthService> {
    HealthServer::new(HealthService(health)).max_decoding_message_size(REQUEST_BYTES_MAX)
}

#[tonic::async_trait]
impl HealthRpc for HealthService {
    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        match status_of(&self.0.snapshot(), &request.get_ref().service) {
            ServingStatus::ServiceUnknown => Err(Status::not_found("this server does not have the service")),
            status @ (ServingStatus::Serving | ServingStatus::NotServing | ServingStatus::Unknown) => {
                Ok(Response::new(response(status)))
            }
        }
    }

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let watcher = Watcher { health: self.0.watch(), service: request.into_inner().service, last_sent: None };
        Ok(Response::new(unfold(watcher, Watcher::next).boxed()))
    }
}

/// One watch call. It sends each change of the status once.
struct Watcher {
    health: watch::Receiver<Snapshot>,
    service: String,
    last_sent: Option<ServingStatus>,
}

impl Watcher {
    async fn next(mut self) -> Option<(Result<HealthCheckResponse, Status>, Self)> {
        loop {
            let status = status_of(&self.health.borrow_and_update(), &self.service);
            if self.last_sent.replace(status) != Some(status) {
                return Some((Ok(response(status)), self));
            }
            self.health.changed().await.ok()?;
        }
    }
}

fn status_of(health: &Snapshot, service: &str) -> ServingStatus {
    match (health.serves(service), health.is_ready()) {
        (false, _) => ServingStatus::ServiceUnknown,
        (true, true) => ServingStatus::Serving,
        (true, false) => ServingStatus::NotServing,
    }
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}
