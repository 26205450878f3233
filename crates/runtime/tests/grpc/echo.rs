//! A service with a method of each kind. A test can hold its calls.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, ready};
use futures::stream::{BoxStream, StreamExt, pending};
use http::{Request, Response};
use prost::Message;
use prost_types::{FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto, ServiceDescriptorProto};
use runtime::grpc::Deadline;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService};
use tonic::{Status, Streaming};
use tonic_prost::ProstCodec;
use tower::service_fn;

pub(crate) const SAY: &str = "/test.Echo/Say";
pub(crate) const WATCH: &str = "/test.Echo/Watch";
pub(crate) const CHAT: &str = "/test.Echo/Chat";

/// Maximum size of a request message of the service, in bytes.
pub(crate) const MESSAGE_BYTES_MAX: usize = 256 * 1024;

/// `Say` returns its request; `hold` waits for the gate, `panic` panics, and `remaining` returns the remaining
/// milliseconds. `Watch` sends its request once and then nothing. `Chat` returns all requests until `shutdown`,
/// and then `bye`.
#[derive(Clone)]
pub(crate) struct Echo {
    pub(crate) gate: Arc<Semaphore>,
    pub(crate) held: watch::Sender<usize>,
    pub(crate) shutdown: CancellationToken,
}

impl NamedService for Echo {
    const NAME: &'static str = "test.Echo";
}

impl Echo {
    pub(crate) fn new(shutdown: CancellationToken) -> Self {
        let gate = Arc::new(Semaphore::new(0));
        Self { gate, held: watch::Sender::new(0), shutdown }
    }

    pub(crate) fn descriptors() -> &'static [u8] {
        let method = |name: &str, client, server| MethodDescriptorProto {
            name: Some(name.to_owned()),
            client_streaming: Some(client),
            server_streaming: Some(server),
            ..MethodDescriptorProto::default()
        };
        let service = ServiceDescriptorProto {
            name: Some("Echo".to_owned()),
            method: vec![method("Say", false, false), method("Watch", false, true), method("Chat", true, true)],
            ..ServiceDescriptorProto::default()
        };
        let file = FileDescriptorProto {
            name: Some("test/echo.proto".to_owned()),
            package: Some("test".to_owned()),
            service: vec![service],
            ..FileDescriptorProto::default()
        };
        Vec::leak(FileDescriptorSet { file: vec![file] }.encode_to_vec())
    }

    async fn say(self, request: tonic::Request<String>) -> Result<tonic::Response<String>, Status> {
        let deadline = Deadline::of(&request);
        let text = request.into_inner();
        match text.as_str() {
            "hold" => {
                self.held.send_modify(|held| *held += 1);
                self.gate.acquire().await.unwrap().forget();
            }
            "panic" => panic!("requested"),
            "remaining" => {
                return Ok(tonic::Response::new(deadline.unwrap().remaining().as_millis().to_string()));
            }
            _ => {}
        }
        Ok(tonic::Response::new(text))
    }

    fn chat(
        &self,
        request: tonic::Request<Streaming<String>>,
    ) -> tonic::Response<BoxStream<'static, Result<String, Status>>> {
        let bye = futures::stream::once(async { Ok("bye".to_owned()) });
        let shutdown = self.shutdown.clone().cancelled_owned();
        let answers = request.into_inner().take_until(shutdown).chain(bye);
        tonic::Response::new(answers.boxed())
    }

    async fn serve(self, request: Request<Body>) -> Response<Body> {
        let mut grpc = Grpc::new(ProstCodec::<String, String>::default())
            .apply_max_message_size_config(Some(MESSAGE_BYTES_MAX), None);
        match request.uri().path() {
            SAY => grpc.unary(service_fn(|r| self.clone().say(r)), request).await,
            WATCH => grpc.server_streaming(service_fn(watch), request).await,
            CHAT => grpc.streaming(service_fn(|r| ready(Ok::<_, Status>(self.chat(r)))), request).await,
            _ => Status::unimplemented("").into_http(),
        }
    }
}

async fn watch(
    request: tonic::Request<String>,
) -> Result<tonic::Response<BoxStream<'static, Result<String, Status>>>, Status> {
    let once = futures::stream::once(async { Ok(request.into_inner()) });
    Ok(tonic::Response::new(once.chain(pending()).boxed()))
}

impl tower::Service<Request<Body>> for Echo {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let echo = self.clone();
        Box::pin(async move { Ok(echo.serve(request).await) })
    }
}
