//! Serves a role until the shutdown. The admin port closes last, so that it reports the drain.

use crate::admin::Admin;
use crate::grpc::BoundGrpcServer;
use crate::http::BoundHttpServer;
use crate::shutdown::Shutdown;

/// The listeners of a role. A gRPC server converts into it.
#[derive(Debug)]
pub struct Listeners {
    grpc: BoundGrpcServer,
    http: Option<BoundHttpServer>,
}

impl Listeners {
    /// A gRPC and an HTTP listener; they drain at the same time.
    #[must_use]
    pub fn new(grpc: BoundGrpcServer, http: BoundHttpServer) -> Self {
        Self { grpc, http: Some(http) }
    }
}

impl From<BoundGrpcServer> for Listeners {
    fn from(grpc: BoundGrpcServer) -> Self {
        Self { grpc, http: None }
    }
}

/// Spawns the servers on `shutdown`.
pub fn spawn(role: &'static str, listeners: impl Into<Listeners>, admin: Admin, shutdown: &Shutdown) {
    let Listeners { grpc, http } = listeners.into();
    spawn_admin(admin, shutdown);
    let token = shutdown.token();
    shutdown.spawn(async move {
        let http_token = token.clone();
        let serve_http = async {
            if let Some(http) = http {
                let drained = http.serve(http_token).await;
                tracing::info!(role, ?drained, "http drained");
            }
        };
        let serve_grpc = async {
            let drained = grpc.serve(token).await;
            tracing::info!(role, ?drained, "drained");
        };
        tokio::join!(serve_grpc, serve_http);
    });
}

/// Spawns the admin port on `shutdown`. `/readyz` reports the drain as soon as the shutdown begins; the port closes when all other
/// tasks have ended.
pub fn spawn_admin(admin: Admin, shutdown: &Shutdown) {
    let (health, begun) = (admin.health(), shutdown.token());
    shutdown.spawn(async move {
        begun.cancelled().await;
        health.drain();
    });
    shutdown.spawn_last(async move |end| {
        if let Err(error) = admin.serve(end).await {
            let error: &dyn std::error::Error = &error;
            tracing::error!(error, "the admin port is closed");
        }
    });
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;
    use crate::health::Health;

    const DEADLINE: Duration = Duration::from_secs(30);

    async fn readyz(addr: SocketAddr) -> String {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        stream.write_all(b"GET /readyz HTTP/1.0\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn the_admin_port_reports_the_drain_until_the_last_task_has_ended() {
        let shutdown = Shutdown::new();
        let health = Health::new(&[]);
        let any = "127.0.0.1:0".parse().unwrap();
        let admin = Admin::bind(any, health.clone(), crate::metrics::install().unwrap()).await.unwrap();
        let addr = admin.local_addr();
        spawn_admin(admin, &shutdown);
        let (release, released) = tokio::sync::oneshot::channel::<()>();
        shutdown.spawn(released);
        assert!(readyz(addr).await.starts_with("HTTP/1.0 200 "));

        shutdown.begin();
        let mut watch = health.watch();
        let draining = watch.wait_for(|now| now.draining);
        assert!(tokio::time::timeout(DEADLINE, draining).await.is_ok());
        let answer = readyz(addr).await;
        assert!(answer.starts_with("HTTP/1.0 503 ") && answer.contains(r#""draining":true"#), "{answer}");

        release.send(()).unwrap();
        assert_eq!(shutdown.wait(DEADLINE).await, Ok(()));
        assert!(TcpStream::connect(addr).await.is_err());
    }
}
