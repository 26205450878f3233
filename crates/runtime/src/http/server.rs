//! Builds an HTTP server from a router, binds it, serves it and drains it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use http::{Request, StatusCode};
use ipnet::IpNet;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::admission::{Admission, DrainSignal, admit};
use super::config::HttpConfig;
use super::connection;
use super::handle::{Rules, layered};
use super::problem::HttpProblem;
use crate::health::Health;
use crate::net::{self, Drain, Drained, Listener, Proxies, ReceivedBody};
use crate::tls::TlsError;

/// The name of this server in metrics.
const SERVER: &str = "http";

/// The ALPN protocols, the preferred one first.
const PROTOCOLS: &[&[u8]] = &[b"h2", b"http/1.1"];

/// An HTTP server cannot be bound.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is in use, or does not belong to this machine.
    #[error("http port cannot listen on {addr}")]
    Bind {
        /// The configured address.
        addr: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The TLS files cannot be used.
    #[error("http.server.{0}")]
    Tls(#[from] TlsError),
}

/// Builds an HTTP server.
pub struct HttpServer {
    config: HttpConfig,
    health: Health,
    router: Router,
    wrap: Box<dyn FnOnce(Router) -> Router + Send>,
    trusted_proxies: Vec<IpNet>,
}

impl HttpServer {
    /// A server without routes. Install the metrics recorder first.
    #[must_use]
    pub fn new(config: HttpConfig, health: Health) -> Self {
        Self {
            config,
            health,
            router: Router::new(),
            wrap: Box::new(|router| router),
            trusted_proxies: Vec::new(),
        }
    }

    /// Sets the networks of trusted proxies. Each proxy may have `connections_per_proxy_max` connections, and its traces are
    /// continued.
    #[must_use]
    pub fn trusted_proxies(mut self, networks: Vec<IpNet>) -> Self {
        self.trusted_proxies = networks;
        self
    }

    /// Adds routes. Unknown paths and methods get a problem. A route may accept a larger body than
    /// [`HttpConfig::body_bytes_max`] by its own [`DefaultBodyLimit`].
    #[must_use]
    pub fn router(mut self, router: Router) -> Self {
        let all = self.router.merge(router);
        // The fallbacks are set here, so that later layers also apply to them.
        self.router = all
            .fallback(route_not_found)
            .method_not_allowed_fallback(method_not_allowed);
        self
    }

    /// Adds layers around all routes, and around the responses for unknown paths and methods. Requests that these layers
    /// reject take no slot.
    #[must_use]
    pub fn layered(mut self, wrap: impl FnOnce(Router) -> Router + Send + 'static) -> Self {
        self.wrap = Box::new(wrap);
        self
    }

    /// Binds the configured address.
    ///
    /// # Errors
    /// [`HttpError::Bind`], [`HttpError::Tls`].
    pub async fn bind(self) -> Result<BoundHttpServer, HttpError> {
        let addr = self.config.addr;
        let failed = |source| HttpError::Bind { addr, source };
        let tls = self.config.tls.acceptor(PROTOCOLS)?;
        let listener = TcpListener::bind(addr).await.map_err(failed)?;
        let local_addr = listener.local_addr().map_err(failed)?;
        let drain = Drain::default();
        let admission = Arc::new(Admission::new(&self.config, drain.clone()));
        let proxies = Proxies {
            networks: self.trusted_proxies.clone(),
            connections_max: self.config.connections_per_proxy_max,
        };
        let config = &self.config;
        let rules = Rules {
            admission: Arc::clone(&admission),
            drain: DrainSignal::new(drain.token()),
            request_timeout: Duration::from_millis(config.request_timeout_ms),
            header_bytes_max: config.header_bytes_max,
            trusted_proxies: self.trusted_proxies,
        };
        let server = net::Server {
            listener: Listener {
                server: SERVER,
                socket: listener,
                tls,
                connections_max: config.connections_max,
                proxies,
                config: config.connection,
            },
            rules: net::Rules {
                transport: connection::transport(config),
                header_timeout: config.header_timeout(),
                body_progress: config.body_progress(),
                drain,
            },
            slots: admission.slots(),
            health: self.health,
            drain_max: Duration::from_millis(config.drain_ms),
        };
        let admitted = self
            .router
            .layer(DefaultBodyLimit::max(config.body_bytes_max))
            .layer(from_fn_with_state(admission, admit));
        Ok(BoundHttpServer {
            router: layered((self.wrap)(admitted), rules),
            server,
            local_addr,
        })
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
        let answer =
            move |request: Request<ReceivedBody>| router.clone().oneshot(request.map(Body::new));
        self.server.serve(answer, shutdown).await
    }
}

async fn route_not_found() -> HttpProblem {
    let detail = "no such route: check the path";
    HttpProblem::new(StatusCode::NOT_FOUND, "ROUTE_NOT_FOUND", detail)
}

async fn method_not_allowed() -> HttpProblem {
    let detail = "the route does not have this method: the header Allow lists its methods";
    HttpProblem::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", detail)
}
