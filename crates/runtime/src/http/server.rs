//! Builds an HTTP server from a router, binds it, serves it and drains it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use http::{Request, StatusCode};
use ipnet::IpNet;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::admission::{Admission, Draining, admit};
use super::config::HttpConfig;
use super::connection;
use super::handle::{Rules, layered};
use super::problem::HttpProblem;
use crate::health::Health;
use crate::net::{self, Drain, Drained, Listening, NamedSlots, Proxies, ReceivedBody};
use crate::tls::TlsError;

/// The name of this server in metrics.
const SERVER: &str = "http";

/// The protocols that a connection of TLS may be opened for.
const PROTOCOLS: &[&[u8]] = &[b"h2", b"http/1.1"];

/// An HTTP server cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is taken or not ours.
    #[error("http port cannot listen on {addr}")]
    Bind {
        /// The address that was asked for.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The files of its TLS cannot be used.
    #[error("http.server.{0}")]
    Tls(#[from] TlsError),
}

/// An HTTP server in the making.
pub struct HttpServer {
    config: HttpConfig,
    health: Health,
    router: Router,
    wrap: Box<dyn FnOnce(Router) -> Router + Send>,
    trusted_proxies: Vec<IpNet>,
}

impl HttpServer {
    /// A server without routes. Install the metrics before.
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

    /// The networks of the proxies before the server: each proxy may have `connections_per_proxy_max` connections, and its
    /// traces are continued.
    #[must_use]
    pub fn trusted_proxies(mut self, networks: Vec<IpNet>) -> Self {
        self.trusted_proxies = networks;
        self
    }

    /// Adds routes. A path that none has, and a method that its route lacks, are answered here; a route may allow a larger
    /// body than [`HttpConfig::body_bytes_max`] by a [`DefaultBodyLimit`] of its own.
    #[must_use]
    pub fn router(mut self, router: Router) -> Self {
        let all = self.router.merge(router);
        // Set at once, so that layers that come later are around them too.
        self.router = all
            .fallback(route_not_found)
            .method_not_allowed_fallback(method_not_allowed);
        self
    }

    /// Puts layers around all routes, and around what the server answers for paths and methods that they lack. What these
    /// layers reject takes no slot.
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
        let refused = |source| HttpError::Bind { addr, source };
        let tls = self.config.tls.acceptor(PROTOCOLS)?;
        let listener = TcpListener::bind(addr).await.map_err(refused)?;
        let local_addr = listener.local_addr().map_err(refused)?;
        let drain = Drain::default();
        let admission = Arc::new(Admission::new(&self.config, drain.clone()));
        let slots = admission.slots();
        let proxies = Proxies {
            networks: self.trusted_proxies.clone(),
            connections_max: self.config.connections_per_proxy_max,
        };
        let listening = Listening {
            server: SERVER,
            listener,
            tls,
            connections_max: self.config.connections_max,
            proxies,
            config: self.config.connection,
        };
        let rules = Rules {
            admission: Arc::clone(&admission),
            draining: Draining::new(drain.token()),
            request_timeout: self.config.request_timeout(),
            header_bytes_max: self.config.header_bytes_max,
            trusted_proxies: self.trusted_proxies,
        };
        let admitted = self
            .router
            .layer(DefaultBodyLimit::max(self.config.body_bytes_max))
            .layer(from_fn_with_state(admission, admit));
        let router = layered((self.wrap)(admitted), rules);
        Ok(BoundHttpServer {
            config: self.config,
            health: self.health,
            router,
            listening,
            slots,
            local_addr,
            drain,
        })
    }
}

/// An HTTP server that listens, and answers once it is served.
#[derive(Debug)]
pub struct BoundHttpServer {
    config: HttpConfig,
    health: Health,
    router: Router,
    listening: Listening,
    slots: NamedSlots,
    local_addr: SocketAddr,
    drain: Drain,
}

impl BoundHttpServer {
    /// The address that was really bound.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves until `shutdown`, then drains: tells that it is not ready, accepts and admits no more, tells streams by
    /// [`Draining`], lets requests and streams finish for `drain_ms`, and cuts what is left.
    ///
    /// Dropping the future cuts every connection.
    pub async fn serve(self, shutdown: CancellationToken) -> Drained {
        let config = self.config;
        let rules = net::Rules {
            server: SERVER,
            transport: connection::transport(&config),
            connection: config.connection,
            header_timeout: config.header_timeout(),
            body_progress: config.body_progress(),
            drain: self.drain,
        };
        let router = self.router;
        let answer =
            move |request: Request<ReceivedBody>| router.clone().oneshot(request.map(Body::new));
        net::serve(
            self.listening,
            rules,
            answer,
            self.slots,
            self.health,
            shutdown,
            config.drain(),
        )
        .await
    }
}

async fn route_not_found() -> HttpProblem {
    let detail = "no such route: check the path";
    HttpProblem::new(StatusCode::NOT_FOUND, "ROUTE_NOT_FOUND", detail)
}

async fn method_not_allowed() -> HttpProblem {
    let detail = "the route does not take this method: the header Allow lists those it takes";
    HttpProblem::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", detail)
}
