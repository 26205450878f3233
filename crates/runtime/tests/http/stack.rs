//! A served router on a port of its own, and clients for it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::stream;
use runtime::grpc::Drained;
use runtime::health::Health;
use runtime::http::{
    Draining, HttpConfig, HttpProblem, HttpServer, Json, OpenStream, Path, Query, RequestId,
};
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Every wait of these tests; one that takes longer has failed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);

/// What the handlers share.
#[derive(Clone)]
struct Shared {
    /// What held requests wait for.
    gate: Arc<Semaphore>,
    /// How many requests are held.
    held: Arc<watch::Sender<usize>>,
}

pub(crate) struct Stack {
    pub(crate) addr: SocketAddr,
    pub(crate) gate: Arc<Semaphore>,
    pub(crate) health: Health,
    pub(crate) shutdown: CancellationToken,
    held: Arc<watch::Sender<usize>>,
    server: JoinHandle<Drained>,
}

pub(crate) async fn serve(change: impl FnOnce(&mut HttpConfig)) -> Stack {
    serve_behind(&[], change).await
}

/// A server with trusted proxies before it.
pub(crate) async fn serve_behind(proxies: &[&str], change: impl FnOnce(&mut HttpConfig)) -> Stack {
    let mut config = HttpConfig {
        drain_ms: 5_000,
        ..HttpConfig::default()
    };
    change(&mut config);
    runtime::metrics::install().unwrap();
    let shared = Shared {
        gate: Arc::new(Semaphore::new(0)),
        held: Arc::new(watch::Sender::new(0)),
    };
    let health = Health::new(&[]);
    let bound = HttpServer::new(config, health.clone())
        .trusted_proxies(proxies.iter().map(|net| net.parse().unwrap()).collect())
        .router(routes(shared.clone()))
        .layered(|routes| routes.layer(from_fn(reject)))
        .bind()
        .await
        .unwrap();
    let (addr, shutdown) = (bound.local_addr(), CancellationToken::new());
    let server = tokio::spawn(bound.serve(shutdown.clone()));
    Stack {
        addr,
        gate: shared.gate,
        held: shared.held,
        health,
        shutdown,
        server,
    }
}

fn routes(shared: Shared) -> Router {
    Router::new()
        .route("/hello", get(async || "hello"))
        .route("/id", get(id))
        .route("/hold", get(hold))
        .route("/panic", get(panics))
        .route("/panic-body", get(panics_later))
        .route("/stream", get(streams))
        .route("/endless", get(endless))
        .route("/flood", get(floods))
        .route("/items", post(take))
        .route(
            "/large",
            post(take).layer(DefaultBodyLimit::max(LARGE_BYTES)),
        )
        .route("/items/{id}", get(item))
        .with_state(shared)
}

/// A layer that rejects what asks for it, as a rate limit does.
async fn reject(request: Request, next: Next) -> Response {
    if request.uri().query() == Some("reject") {
        let status = http::StatusCode::TOO_MANY_REQUESTS;
        return HttpProblem::new(status, "RATE_LIMITED", "too many").into_response();
    }
    next.run(request).await
}

/// What `/large` takes, whatever the server's bound.
pub(crate) const LARGE_BYTES: usize = 4_096;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    name: String,
}

#[derive(Debug, Deserialize)]
struct Filter {
    limit: Option<u8>,
}

async fn id(axum::Extension(id): axum::Extension<RequestId>) -> String {
    id.header_value().to_str().unwrap().to_owned()
}

async fn hold(State(shared): State<Shared>) -> &'static str {
    shared.held.send_modify(|held| *held += 1);
    shared.gate.acquire().await.unwrap().forget();
    "held"
}

async fn panics() -> &'static str {
    panic!("a secret")
}

async fn panics_later() -> Response {
    let pieces = stream::iter(0..2).map_piece();
    axum::body::Body::from_stream(pieces).into_response()
}

trait Pieces {
    fn map_piece(self) -> impl futures::Stream<Item = Result<&'static str, std::io::Error>>;
}

impl<S: futures::Stream<Item = i32>> Pieces for S {
    fn map_piece(self) -> impl futures::Stream<Item = Result<&'static str, std::io::Error>> {
        futures::StreamExt::map(self, |n| {
            assert_eq!(n, 0, "a secret");
            Ok("piece")
        })
    }
}

/// One piece, and the last once the server drains.
async fn streams(open: OpenStream) -> Response {
    let draining = open.draining();
    let pieces = stream::unfold((0, draining), async |(n, draining): (u8, Draining)| {
        match n {
            0 => {}
            1 => draining.begun().await,
            _ => return None,
        }
        let piece = if n == 0 { "first" } else { "last" };
        Some((Ok::<_, std::io::Error>(piece), (n + 1, draining)))
    });
    open.respond(axum::body::Body::from_stream(pieces).into_response())
}

/// One piece and then nothing, outside of a stream's place.
async fn endless() -> Response {
    let first = stream::iter([Ok::<_, std::io::Error>("first")]);
    let pieces = futures::StreamExt::chain(first, stream::pending());
    axum::body::Body::from_stream(pieces).into_response()
}

/// A stream that always has more.
async fn floods(open: OpenStream) -> Response {
    let pieces =
        stream::repeat_with(|| Ok::<_, std::io::Error>(bytes::Bytes::from(vec![b'x'; 16 * 1024])));
    open.respond(axum::body::Body::from_stream(pieces).into_response())
}

async fn take(Json(item): Json<Item>) -> Json<Item> {
    Json(item)
}

async fn item(Path(id): Path<u32>, Query(filter): Query<Filter>) -> Result<Json<u32>, HttpProblem> {
    Ok(Json(id + u32::from(filter.limit.unwrap_or(0))))
}

impl Stack {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    pub(crate) async fn get(&self, path: &str) -> reqwest::Response {
        self.send(client().get(self.url(path))).await
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> reqwest::Response {
        timeout(DEADLINE, request.send()).await.unwrap().unwrap()
    }

    /// A request that runs by itself.
    pub(crate) fn getting(&self, path: &str) -> JoinHandle<reqwest::Result<reqwest::Response>> {
        tokio::spawn(client().get(self.url(path)).send())
    }

    /// Waits until `count` requests are held at the gate.
    pub(crate) async fn held(&self, count: usize) {
        let mut held = self.held.subscribe();
        let enough = held.wait_for(|now| *now >= count);
        timeout(DEADLINE, enough).await.unwrap().unwrap();
    }

    pub(crate) async fn drained(self) -> Drained {
        self.shutdown.cancel();
        timeout(DEADLINE, self.server).await.unwrap().unwrap()
    }
}

/// How clients are built: this process has other clients over TLS, so that a provider must be chosen.
pub(crate) fn client_builder() -> reqwest::ClientBuilder {
    // Whoever is first chooses for all; the choice is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy()
}

/// A client with connections of its own.
pub(crate) fn client() -> reqwest::Client {
    client_builder().build().unwrap()
}

/// A client that speaks HTTP/2 from the first byte.
pub(crate) fn h2_client() -> reqwest::Client {
    let builder = client_builder();
    builder.http2_prior_knowledge().build().unwrap()
}

/// The status and the code of a problem.
pub(crate) async fn problem(response: reqwest::Response) -> (u16, String) {
    let status = response.status().as_u16();
    let content_type = response.headers()["content-type"].to_str().unwrap();
    assert_eq!(content_type, "application/problem+json");
    assert!(response.headers().contains_key("x-request-id"));
    let body: serde_json::Value = response.json().await.unwrap();
    assert_eq!(body["status"], status);
    (status, body["code"].as_str().unwrap().to_owned())
}
