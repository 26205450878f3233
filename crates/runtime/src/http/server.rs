//! Builds an HTTP server from a router, binds it, serves it and drains it.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use futures::StreamExt;
use http::StatusCode;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::admission::{Admission, Draining};
use super::config::HttpConfig;
use super::connection;
use super::handle::{Rules, handle};
use super::problem::HttpProblem;
use crate::health::Health;
use crate::net::{CUT_GRACE, CutOnDrop, Drain, Drained, connections};
use crate::tls::{Acceptor, TlsError};

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
#[derive(Debug)]
pub struct HttpServer {
    config: HttpConfig,
    health: Health,
    router: Router,
}

impl HttpServer {
    /// A server without routes. Install the metrics before.
    #[must_use]
    pub fn new(config: HttpConfig, health: Health) -> Self {
        Self {
            config,
            health,
            router: Router::new(),
        }
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

    /// Puts layers around the routes so far, and around what the server answers for paths and methods that they lack.
    #[must_use]
    pub fn layered(mut self, wrap: impl FnOnce(Router) -> Router) -> Self {
        self.router = wrap(self.router);
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
        let rules = Rules {
            admission: Arc::new(Admission::new(&self.config, drain.clone())),
            draining: Draining::new(drain.token()),
            request_timeout: self.config.request_timeout(),
            header_bytes_max: self.config.header_bytes_max,
        };
        let router = self
            .router
            .layer(DefaultBodyLimit::max(self.config.body_bytes_max))
            .layer(from_fn_with_state(Arc::new(rules), handle));
        Ok(BoundHttpServer {
            config: self.config,
            health: self.health,
            router,
            listener: (listener, tls),
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
    listener: (TcpListener, Option<Acceptor>),
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
        let Self {
            config,
            health,
            router,
            listener,
            drain,
            ..
        } = self;
        let cut = CutOnDrop(drain.clone());
        let tasks = TaskTracker::new();
        {
            let transport = connection::transport(&config);
            let end = (drain.clone(), config.header_timeout());
            let accepted = connections(listener, config.connections_max, drain.clone());
            let mut accepted = pin!(accepted.take_until(shutdown.cancelled_owned()));
            while let Some(Ok(connection)) = accepted.next().await {
                let (router, transport) = (router.clone(), transport.clone());
                tasks.spawn(connection::serve(
                    connection,
                    router,
                    end.clone(),
                    transport,
                ));
            }
        }
        health.drain();
        drain.begin();
        tasks.close();
        if timeout(config.drain(), tasks.wait()).await.is_ok() {
            return Drained::Clean;
        }
        drop(cut);
        // A connection that does not even close is left to the end of the process.
        let _ = timeout(CUT_GRACE, tasks.wait()).await;
        Drained::Cut
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
