//! Serves a role until the shutdown. The admin port stops last, so that it reports the drain.

use tokio_util::sync::CancellationToken;

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
    let admin_end = CancellationToken::new();
    let admin_task = shutdown.spawn(admin.serve(admin_end.clone()));
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
        admin_end.cancel();
        // The task logs its own failure.
        drop(admin_task.await);
    });
}
