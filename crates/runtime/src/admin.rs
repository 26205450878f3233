//! The admin port for operators: `/metrics`, `/livez`, `/readyz`.
//!
//! It is plain HTTP without authentication. Bind it to an address that only operators can reach.

use std::io;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::health::{Health, Snapshot};
use crate::metrics::Metrics;
use crate::net::{self, BindError};

/// The admin port cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The port cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The listener failed while serving.
    #[error("admin port stopped serving")]
    Serve(#[source] io::Error),
}

/// A bound admin port.
#[derive(Debug)]
pub struct Admin {
    listener: TcpListener,
    local_addr: SocketAddr,
    router: Router,
    health: Health,
}

impl Admin {
    /// Binds `addr`; port 0 picks a free port.
    ///
    /// # Errors
    /// [`AdminError::Bind`].
    pub async fn bind(addr: SocketAddr, health: Health, metrics: Metrics) -> Result<Self, AdminError> {
        let (listener, local_addr) = net::bind("admin", addr).await?;
        let router = Router::new()
            .route("/livez", get(async || "ok\n"))
            .route("/readyz", get(readyz).with_state(health.clone()))
            .route("/metrics", get(render).with_state(metrics));
        Ok(Self { listener, local_addr, router, health })
    }

    /// The bound address.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The health that `/readyz` reports.
    #[must_use]
    pub fn health(&self) -> Health {
        self.health.clone()
    }

    /// Serves until `end`. Cancel it after the drain, so that `/readyz` reports the drain.
    ///
    /// # Errors
    /// [`AdminError::Serve`].
    pub async fn serve(self, end: CancellationToken) -> Result<(), AdminError> {
        // Dropped, not drained: an idle connection of an operator must not delay the end of the process.
        let serving = axum::serve(self.listener, self.router);
        tokio::select! {
            served = serving => served.map_err(AdminError::Serve),
            () = end.cancelled() => Ok(()),
        }
    }
}

async fn render(State(metrics): State<Metrics>) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (headers, metrics.render()).into_response()
}

async fn readyz(State(health): State<Health>) -> Response {
    let snapshot = health.snapshot();
    let status = if snapshot.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (status, headers, format!("{}\n", json_of(&snapshot))).into_response()
}

fn json_of(snapshot: &Snapshot) -> Value {
    json!({
        "ready": snapshot.is_ready(),
        "draining": snapshot.draining,
        "dependencies": snapshot.dependencies,
        "saturated": snapshot.saturated,
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;
    use crate::health::State;

    async fn check(addr: SocketAddr, path: &str, status: u16, body: &str) {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        assert!(answer.contains(body), "{path}: no {body} in {answer}");
    }

    #[tokio::test]
    async fn serves_readiness_liveness_and_metrics_over_http() {
        let health = Health::new(&["nats"]);
        let any = "127.0.0.1:0".parse().unwrap();
        let admin = Admin::bind(any, health.clone(), crate::metrics::install().unwrap()).await.unwrap();
        let addr = admin.local_addr();
        let end = CancellationToken::new();
        let server = tokio::spawn(admin.serve(end.clone()));

        check(addr, "/livez", 200, "ok\n").await;
        check(addr, "/metrics", 200, "process_resident_memory_bytes ").await;
        check(addr, "/other", 404, "").await;
        check(addr, "/readyz", 503, r#""nats":{"reason":"not checked yet","state":"down"}"#).await;
        health.set("nats", State::Up);
        check(addr, "/readyz", 200, r#"{"dependencies":{"nats":{"state":"up"}},"#).await;
        health.set_saturated("http.requests", true);
        check(addr, "/readyz", 503, r#""saturated":["http.requests"]}"#).await;
        health.set_saturated("http.requests", false);
        health.drain();
        check(addr, "/readyz", 503, r#""draining":true,"ready":false,"#).await;

        end.cancel();
        server.await.unwrap().unwrap();
        let taken = TcpListener::bind(any).await.unwrap();
        let addr = taken.local_addr().unwrap();
        let error = Admin::bind(addr, health, crate::metrics::install().unwrap()).await;
        assert_eq!(error.unwrap_err().to_string(), format!("admin port cannot listen on {addr}"));
    }
}
