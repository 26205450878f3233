//! An HTTP server on its own port, and clients for it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::stream::{self, StreamExt};
use runtime::grpc::Drained;
use runtime::health::Health;
use runtime::http::{
    DrainSignal, HttpConfig, HttpProblem, HttpServer, Json, PROBLEM_CONTENT_TYPE, Path, Query, RequestId, StreamSlot,
};
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// Maximum duration of every wait of these tests.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// The default drain of these tests. A test that waits for its end fails at [`DEADLINE`].
const DRAIN_MS: u64 = 600_000;

/// A timeout that no test reaches.
pub(crate) const NEVER_MS: u64 = 600_000;

/// The state of the handlers.
#[derive(Clone)]
struct Shared {
    /// Held requests wait for a permit.
    gate: Arc<Semaphore>,
    /// Number of held requests.
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

/// A server behind trusted proxies.
pub(crate) async fn serve_behind(proxies: &[&str], change: impl FnOnce(&mut HttpConfig)) -> Stack {
    let mut config = HttpConfig { drain_ms: DRAIN_MS, ..HttpConfig::default() };
    change(&mut config);
    runtime::metrics::install().unwrap();
    let shared = Shared { gate: Arc::new(Semaphore::new(0)), held: Arc::new(watch::Sender::new(0)) };
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
    Stack { addr, gate: shared.gate, held: shared.held, health, shutdown, server }
}

fn routes(shared: Shared) -> Router {
    Router::new()
        .route("/hello", get(async || "hello"))
        .route("/id", get(id))
        .route("/hold", get(hold))
        .route("/panic", get(panics))
        .route("/panic-body", get(panic_in_body))
        .route("/stream", get(two_pieces))
        .route("/endless", get(endless))
        .route("/flood", get(flood))
        .route("/bytes", post(count))
        .route("/big", get(async || vec![b'x'; BIG_BYTES]))
        .route("/items", post(take))
        .route("/large", post(take).layer(DefaultBodyLimit::max(LARGE_BYTES)))
        .route("/items/{id}", get(item))
        .with_state(shared)
}

/// A layer that rejects requests with a query, like a rate limit.
async fn reject(request: Request, next: Next) -> Response {
    if request.uri().query() == Some("reject") {
        let status = http::StatusCode::TOO_MANY_REQUESTS;
        return HttpProblem::new(status, "RATE_LIMITED", "too many").into_response();
    }
    next.run(request).await
}

/// The size of `/big`.
pub(crate) const BIG_BYTES: usize = 31 * 1024 * 1024;

/// The body limit of `/large`, independent of the server's limit.
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

async fn panic_in_body() -> Response {
    let pieces = stream::iter(0..2).map(|n| {
        assert_eq!(n, 0, "a secret");
        Ok::<_, std::io::Error>("piece")
    });
    axum::body::Body::from_stream(pieces).into_response()
}

/// One piece, and the last piece when the server drains.
async fn two_pieces(slot: StreamSlot) -> Response {
    let pieces = stream::unfold((0, slot.drain()), async |(n, drain): (u8, DrainSignal)| {
        match n {
            0 => {}
            1 => drain.begun().await,
            _ => return None,
        }
        let piece = if n == 0 { "first" } else { "last" };
        Some((Ok::<_, std::io::Error>(piece), (n + 1, drain)))
    });
    slot.respond(axum::body::Body::from_stream(pieces).into_response())
}

/// One piece and then nothing, without a stream slot.
async fn endless() -> Response {
    let first = stream::iter([Ok::<_, std::io::Error>("first")]);
    axum::body::Body::from_stream(first.chain(stream::pending())).into_response()
}

/// A stream without end.
async fn flood(slot: StreamSlot) -> Response {
    let pieces = stream::repeat_with(|| Ok::<_, std::io::Error>(bytes::Bytes::from(vec![b'x'; 16 * 1024])));
    slot.respond(axum::body::Body::from_stream(pieces).into_response())
}

async fn count(body: bytes::Bytes) -> String {
    body.len().to_string()
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

    /// Waits until a GET request succeeds.
    pub(crate) async fn eventually_ok(&self, path: &str) {
        let deadline = Instant::now() + DEADLINE;
        while self.get(path).await.status() != 200 {
            assert!(Instant::now() < deadline, "no slot is released for {path}");
        }
    }

    /// A request in the background.
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

/// A builder of clients.
pub(crate) fn client_builder() -> reqwest::ClientBuilder {
    // reqwest needs a TLS provider; it fails only if one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy()
}

/// A client with its own connections.
pub(crate) fn client() -> reqwest::Client {
    client_builder().build().unwrap()
}

/// An HTTP/2 client.
pub(crate) fn h2_client() -> reqwest::Client {
    let builder = client_builder();
    builder.http2_prior_knowledge().build().unwrap()
}

/// Checks that a response is a problem with this status and code.
pub(crate) async fn check_problem(response: reqwest::Response, status: u16, code: &str) {
    let url = response.url().clone();
    assert_eq!(response.status(), status, "{url}");
    assert_eq!(response.headers()["content-type"], PROBLEM_CONTENT_TYPE);
    assert!(response.headers().contains_key("x-request-id"));
    let body: serde_json::Value = response.json().await.unwrap();
    assert_eq!(body["status"], status, "{url}");
    assert_eq!(body["code"], code, "{url}");
}
