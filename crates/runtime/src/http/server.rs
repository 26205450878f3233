//! Builds an HTTP server from a router, binds it, serves it and drains it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use http::{Request, StatusCode};
use hyper_util::rt::TokioTimer;
use hyper_util::server::conn::auto::Builder;
use ipnet::IpNet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::admission::{Admission, DrainSignal, admit};
use super::config::HttpConfig;
use super::handle::{Rules, layered};
use super::problem::HttpProblem;
use crate::health::Health;
use crate::net::{self, BindError, Drain, Drained, Listener, Proxies, ReceivedBody, StreamExecutor};
use crate::tls::TlsError;

/// The name of this server in metrics.
const SERVER: &str = "http";

/// The ALPN protocols, the preferred one first.
const PROTOCOLS: &[&[u8]] = &[b"h2", b"http/1.1"];

/// Maximum number of concurrent requests on one HTTP/2 connection. Further requests wait in the client.
const CONNECTION_REQUESTS_MAX: u32 = 256;

/// Time without traffic before an HTTP/2 PING is sent, and the maximum wait for its reply.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(20);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Added to `header_bytes_max` in the transport, so that the response is a problem and not the 431 without a body of the
/// transport.
const HEADER_SLACK_BYTES: usize = 16 * 1024;

/// Minimum size of the header buffer of the transport, in bytes.
const HEADER_BUFFER_BYTES_MIN: usize = 8 * 1024;

/// Maximum number of headers of a request. More get a 431 without a body.
const HEADERS_MAX: usize = 256;

/// An HTTP server cannot be bound.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The port cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The TLS files cannot be used.
    #[error("http.server.{0}")]
    Tls(#[from] TlsError),
}

/// Builds an HTTP server.
#[must_use]
pub struct HttpServer {
    config: HttpConfig,
    health: Health,
    router: Router,
    wrap: Box<dyn FnOnce(Router) -> Router + Send>,
    trusted_proxies: Vec<IpNet>,
}

impl HttpServer {
    /// A server without routes. Install the metrics recorder first.
    pub fn new(config: HttpConfig, health: Health) -> Self {
        Self { config, health, router: Router::new(), wrap: Box::new(|router| router), trusted_proxies: Vec::new() }
    }

    /// Sets the networks of trusted proxies. The limit of connections per address does not apply to them, and their
    /// traces are continued.
    pub fn trusted_proxies(mut self, networks: Vec<IpNet>) -> Self {
        self.trusted_proxies = networks;
        self
    }

    /// Adds routes. Unknown paths and methods get a problem. A route may accept a larger body than
    /// [`HttpConfig::body_bytes_max`] by its own [`DefaultBodyLimit`].
    pub fn router(mut self, router: Router) -> Self {
        let all = self.router.merge(router);
        // The fallbacks are set here, so that later layers also apply to them.
        self.router = all.fallback(route_not_found).method_not_allowed_fallback(method_not_allowed);
        self
    }

    /// Adds layers around all routes, and around the responses for unknown paths and methods. Requests that these layers
    /// reject take no slot.
    pub fn layered(mut self, wrap: impl FnOnce(Router) -> Router + Send + 'static) -> Self {
        self.wrap = Box::new(wrap);
        self
    }

    /// Binds the configured address.
    ///
    /// # Errors
    /// [`HttpError::Bind`], [`HttpError::Tls`].
    pub async fn bind(self) -> Result<BoundHttpServer, HttpError> {
        let tls = self.config.tls.acceptor(PROTOCOLS)?;
        let (socket, local_addr) = net::bind(SERVER, self.config.addr).await?;
        let drain = Drain::default();
        let admission = Arc::new(Admission::new(&self.config, drain.clone()));
        let proxies = Proxies { networks: self.trusted_proxies };
        let config = &self.config;
        let rules = Rules {
            admission: Arc::clone(&admission),
            drain: DrainSignal::new(drain.token()),
            request_timeout: Duration::from_millis(config.request_timeout_ms),
            header_bytes_max: config.header_bytes_max,
            proxies: proxies.clone(),
        };
        let server = net::Server {
            listener: Listener {
                server: SERVER,
                socket,
                tls,
                connections_max: config.connections_max,
                proxies,
                config: config.connection,
                limits: config.transport,
            },
            rules: net::Rules {
                transport: transport(config),
                header_timeout: config.header_timeout(),
                body_progress: config.transport.body_progress(),
                memory: admission.memory(),
                drain,
            },
            slots: admission.slots(),
            health: self.health,
            drain_max: Duration::from_millis(config.drain_ms),
        };
        let admitted =
            self.router.layer(DefaultBodyLimit::max(config.body_bytes_max)).layer(from_fn_with_state(admission, admit));
        Ok(BoundHttpServer { router: layered((self.wrap)(admitted), rules), server, local_addr })
    }
}

/// A bound HTTP server. It accepts connections when it is served.
#[derive(Debug)]
pub struct BoundHttpServer {
    router: Router,
    server: net::Server,
    local_addr: SocketAddr,
}

impl BoundHttpServer {
    /// The bound address.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves until `shutdown`, then drains: reports not ready, accepts no more connections and requests, signals streams by
    /// [`DrainSignal`], waits up to `drain_ms` for requests and streams, and closes the remaining connections.
    ///
    /// Dropping the future closes all connections.
    pub async fn serve(self, shutdown: CancellationToken) -> Drained {
        let router = self.router;
        let answer = move |request: Request<ReceivedBody>| router.clone().oneshot(request.map(Body::new));
        self.server.serve(answer, shutdown).await
    }
}

/// The transport of every connection: HTTP/1.1 or HTTP/2, detected by the first bytes.
fn transport(config: &HttpConfig) -> Builder<StreamExecutor> {
    let header_bytes_max = (config.header_bytes_max + HEADER_SLACK_BYTES).max(HEADER_BUFFER_BYTES_MIN);
    let mut builder = Builder::new(StreamExecutor { write_timeout: config.transport.write_timeout() });
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(config.header_timeout())
        .max_buf_size(header_bytes_max)
        .max_headers(HEADERS_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .max_concurrent_streams(CONNECTION_REQUESTS_MAX)
        .max_header_list_size(u32::try_from(header_bytes_max).unwrap_or(u32::MAX));
    builder
}

async fn route_not_found() -> HttpProblem {
    let detail = "no such route: check the path";
    HttpProblem::new(StatusCode::NOT_FOUND, "ROUTE_NOT_FOUND", detail)
}

async fn method_not_allowed() -> HttpProblem {
    let detail = "the route does not have this method: the header Allow lists its methods";
    HttpProblem::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", detail)
}
