//! `grpc.health.v1.Health`, read straight from the process's health.
//!
//! Source: <https://github.com/grpc/grpc/blob/master/doc/health-checking.md>.

use futures::stream::{BoxStream, StreamExt, unfold};
use tokio::sync::watch;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health as HealthRpc, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use crate::health::{Health, Snapshot};

/// The largest request taken, in bytes: a service's name.
const REQUEST_BYTES_MAX: usize = 4096;

/// Answers from the health itself, so that it is never older than the last probe.
#[derive(Debug)]
pub(super) struct HealthService(Health);

pub(super) fn service(health: Health) -> HealthServer<HealthService> {
    HealthServer::new(HealthService(health)).max_decoding_message_size(REQUEST_BYTES_MAX)
}

#[tonic::async_trait]
impl HealthRpc for HealthService {
    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        match status_of(&self.0.snapshot(), &request.get_ref().service) {
            ServingStatus::ServiceUnknown => Err(Status::not_found("service is not served here")),
            status @ (ServingStatus::Serving
            | ServingStatus::NotServing
            | ServingStatus::Unknown) => Ok(Response::new(answer(status))),
        }
    }

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let service = request.into_inner().service;
        let follower = Follower {
            health: self.0.watch(),
            service,
            told: None,
        };
        Ok(Response::new(unfold(follower, Follower::next).boxed()))
    }
}

/// One watcher, told each change of its service's status once.
struct Follower {
    health: watch::Receiver<Snapshot>,
    service: String,
    told: Option<ServingStatus>,
}

impl Follower {
    async fn next(mut self) -> Option<(Result<HealthCheckResponse, Status>, Self)> {
        loop {
            let status = status_of(&self.health.borrow_and_update(), &self.service);
            if self.told.replace(status) != Some(status) {
                return Some((Ok(answer(status)), self));
            }
            self.health.changed().await.ok()?;
        }
    }
}

fn status_of(health: &Snapshot, service: &str) -> ServingStatus {
    match (health.knows(service), health.is_ready()) {
        (false, _) => ServingStatus::ServiceUnknown,
        (true, true) => ServingStatus::Serving,
        (true, false) => ServingStatus::NotServing,
    }
}

fn answer(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse {
        status: status.into(),
    }
}
