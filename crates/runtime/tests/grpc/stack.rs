//! An echo server on its own port, and a client for it.

use std::time::Duration;

use http::uri::PathAndQuery;
use runtime::grpc::{Drained, GrpcConfig, GrpcServer};
use runtime::health::Health;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::echo::{Echo, SAY};

/// Maximum duration of every wait of these tests.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// The default drain of these tests. A test that waits for its end fails at [`DEADLINE`].
const DRAIN_MS: u64 = 600_000;

/// Waits until `check` returns true.
pub(crate) async fn eventually(what: &str, check: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !check().await {
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::task::yield_now().await;
    }
}

pub(crate) struct Stack {
    pub(crate) echo: Echo,
    pub(crate) health: Health,
    pub(crate) shutdown: CancellationToken,
    pub(crate) endpoint: Endpoint,
    server: JoinHandle<Drained>,
}

pub(crate) async fn serve(change: impl FnOnce(&mut GrpcConfig)) -> Stack {
    let mut config = GrpcConfig { drain_ms: DRAIN_MS, ..GrpcConfig::default() };
    change(&mut config);
    let shutdown = CancellationToken::new();
    let health = Health::new(&["nats"]);
    let echo = Echo::new(shutdown.clone());
    let bound = GrpcServer::new(config, health.clone())
        .descriptors(Echo::descriptors())
        .service(echo.clone())
        .bind()
        .await
        .unwrap();
    let endpoint = Endpoint::from_shared(format!("http://{}", bound.local_addr())).unwrap();
    let server = tokio::spawn(bound.serve(shutdown.clone()));
    Stack { echo, health, shutdown, endpoint, server }
}

impl Stack {
    pub(crate) async fn client(&self) -> Client {
        Client(self.endpoint.connect().await.unwrap())
    }

    /// A TCP connection to the server.
    pub(crate) async fn connect(&self) -> TcpStream {
        let authority = self.endpoint.uri().authority().unwrap().as_str();
        TcpStream::connect(authority).await.unwrap()
    }

    /// Waits until `count` calls are held at the gate.
    pub(crate) async fn held(&self, count: usize) {
        let mut held = self.echo.held.subscribe();
        timeout(DEADLINE, held.wait_for(|now| *now >= count)).await.unwrap().unwrap();
    }

    pub(crate) async fn drained(self) -> Drained {
        self.shutdown.cancel();
        timeout(DEADLINE, self.server).await.unwrap().unwrap()
    }
}

#[derive(Clone)]
pub(crate) struct Client(pub(crate) Channel);

impl Client {
    pub(crate) async fn say(&self, text: &str) -> Result<String, Status> {
        self.unary(SAY, Request::new(text.to_owned())).await
    }

    /// A call in the background.
    pub(crate) fn saying(&self, text: &'static str) -> JoinHandle<Result<String, Status>> {
        let client = self.clone();
        tokio::spawn(async move { client.say(text).await })
    }

    pub(crate) async fn unary(&self, path: &'static str, request: Request<String>) -> Result<String, Status> {
        let mut grpc = tonic::client::Grpc::new(self.0.clone());
        grpc.ready().await.map_err(|e| Status::unknown(e.to_string()))?;
        let path = PathAndQuery::from_static(path);
        let codec = ProstCodec::<String, String>::default();
        let answer = timeout(DEADLINE, grpc.unary(request, path, codec)).await.unwrap();
        answer.map(tonic::Response::into_inner)
    }

    pub(crate) async fn stream(
        &self,
        path: &'static str,
        requests: impl futures::Stream<Item = String> + Send + 'static,
        timeout_header: Option<&'static str>,
    ) -> Result<Streaming<String>, Status> {
        let mut grpc = tonic::client::Grpc::new(self.0.clone());
        grpc.ready().await.unwrap();
        let mut request = Request::new(requests);
        if let Some(value) = timeout_header {
            request.metadata_mut().insert("grpc-timeout", value.parse().unwrap());
        }
        let path = PathAndQuery::from_static(path);
        let codec = ProstCodec::<String, String>::default();
        let answer = timeout(DEADLINE, grpc.streaming(request, path, codec)).await.unwrap();
        answer.map(tonic::Response::into_inner)
    }
}

/// The next message of a stream.
pub(crate) async fn next(stream: &mut Streaming<String>) -> Result<Option<String>, Status> {
    timeout(DEADLINE, stream.message()).await.unwrap()
}
