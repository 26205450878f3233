//! The write service of the gateway: every call goes to a writer as it is, so that a client needs one address.
//!
//! The writer authorizes the call, by the caller's own token. The gateway rejects unknown tokens, so that strangers open no connections
//! to the writers. Commands with an idempotency key are repeated as the gateway's own are.
//!
//! Unread bytes of a stream count against the window of its connection. So each stream has a connection of its own, and a caller that
//! reads no answers holds back nobody else.

use std::convert::Infallible;
use std::task::{Context, Poll};

use axum::http::{Request, Response};
use futures::future::BoxFuture;
use tonic::Status;
use tonic::body::Body;
use tonic::server::NamedService;
use tower::{Service, ServiceExt as _};
use wire::proto::write::v1::write_service_server::SERVICE_NAME;

use conversations::Gateway;
use conversations::problem::unauthenticated;
use record_access::writer::WriterChannel;

/// The method whose calls are streams.
const STREAM_METHOD: &str = "/AppendStream";

/// Forwards calls of the write service.
#[derive(Debug, Clone)]
pub(crate) struct ForwardedWrites {
    gateway: Gateway,
    writers: WriterChannel,
}

impl ForwardedWrites {
    /// Forwards to these writers.
    pub(crate) fn to(writers: WriterChannel, gateway: Gateway) -> Self {
        Self { gateway, writers }
    }

    async fn forward(self, request: Request<Body>) -> Result<Response<Body>, Status> {
        let bearer = wire::bearer::from_headers(request.headers());
        let principal = match bearer {
            Some(bearer) => self.gateway.registry.authenticate(bearer, self.gateway.now()).await,
            None => None,
        };
        if principal.is_none() {
            return Err(unauthenticated().into());
        }
        if request.uri().path().ends_with(STREAM_METHOD) {
            return self.writers.open_for_stream().await?.send(request).await;
        }
        let answer = self.writers.oneshot(request).await;
        answer.map_err(|never| match never {})
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
        let forwarding = self.clone().forward(request);
        Box::pin(async move { Ok(forwarding.await.unwrap_or_else(Status::into_http)) })
    }
}
