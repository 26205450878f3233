//! The write service of the gateway: every call goes to the writer as it is, so that a client needs one address.
//!
//! The writer authorizes the call, by the caller's own token. The gateway reads neither the request nor the answer; it rejects
//! unknown tokens, so that strangers open no connections to the writer.
//!
//! Unread bytes of a stream count against the window of its connection. So each stream has a connection of its own, and a caller that
//! reads no answers holds back nobody else. Unary calls share a connection, which the gateway's own commands do not use.

use std::convert::Infallible;
use std::task::{Context, Poll};

use axum::http::{Request, Response};
use event_log::Registry;
use futures::future::BoxFuture;
use runtime::tls::EndpointError;
use tonic::Status;
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::transport::{Channel, Endpoint};
use tower::{Service, ServiceExt as _};
use wire::proto::write::v1::write_service_server::SERVICE_NAME;

use crate::problem::unauthenticated;
use crate::writer::{Outages, WriterClient};

/// The method whose calls are streams.
const STREAM_METHOD: &str = "/AppendStream";

/// Forwards calls of the write service.
#[derive(Debug, Clone)]
pub(crate) struct ForwardedWrites {
    registry: Registry,
    writer: Endpoint,
    unary: Channel,
    outages: Outages,
}

impl ForwardedWrites {
    /// Forwards to the writer at a URL. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`EndpointError`].
    pub(crate) fn to(writer_url: &str, registry: Registry) -> Result<Self, EndpointError> {
        let writer = WriterClient::endpoint(writer_url)?;
        Ok(Self { registry, unary: writer.connect_lazy(), outages: Outages::of(&writer), writer })
    }

    /// The connection of a call.
    fn connection(&self, request: &Request<Body>) -> Channel {
        if request.uri().path().ends_with(STREAM_METHOD) { self.writer.connect_lazy() } else { self.unary.clone() }
    }

    async fn forward(self, request: Request<Body>) -> Result<Response<Body>, Status> {
        let bearer = wire::bearer::from_headers(request.headers());
        let principal = match bearer {
            Some(bearer) => self.registry.authenticate(bearer, crate::now()).await,
            None => None,
        };
        if principal.is_none() {
            return Err(unauthenticated().into());
        }
        let writer = self.connection(&request);
        let answer = writer.oneshot(request).await;
        answer.map_err(|error| self.outages.unanswered(Status::from_error(Box::new(error)).code()))
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
