//! The write service of the gateway: every call goes to the writer as it is, so that a client needs one address.
//!
//! The writer authenticates the caller, by the caller's own token. The gateway reads neither the request nor the answer.

use std::convert::Infallible;
use std::task::{Context, Poll};

use axum::http::{Request, Response};
use futures::future::BoxFuture;
use tonic::Status;
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::transport::Channel;
use tower::{Service, ServiceExt as _};
use wire::proto::write::v1::write_service_server::SERVICE_NAME;
use wire::status::{Problem, Reason};

use crate::problem::RETRY_AFTER;
use crate::writer::WriterClient;

/// Forwards calls of the write service.
#[derive(Debug, Clone)]
pub(crate) struct ForwardedWrites {
    writer: Channel,
}

impl ForwardedWrites {
    pub(crate) fn to(writer: &WriterClient) -> Self {
        Self {
            writer: writer.channel(),
        }
    }
}

impl NamedService for ForwardedWrites {
    const NAME: &'static str = SERVICE_NAME;
}

impl Service<Request<Body>> for ForwardedWrites {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let calling = self.writer.clone().oneshot(request);
        Box::pin(async move {
            let answer = calling.await;
            Ok(answer.unwrap_or_else(|_| unavailable().into_http()))
        })
    }
}

/// The writer cannot be reached.
fn unavailable() -> Status {
    let message = "the writer does not answer: try again";
    let problem = Problem::new(Reason::RecordUnavailable, message);
    problem.retry_after(RETRY_AFTER).into()
}
