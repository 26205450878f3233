//! Serves a role's calls until the shutdown; the operators' port goes last, so that it can tell of the drain.

use tokio_util::sync::CancellationToken;

use crate::admin::Admin;
use crate::grpc::BoundGrpcServer;
use crate::http::BoundHttpServer;
use crate::shutdown::Shutdown;

/// Where a role takes calls. A gRPC server alone converts into it.
#[derive(Debug)]
pub struct Doors {
    grpc: BoundGrpcServer,
    http: Option<BoundHttpServer>,
}

impl Doors {
    /// Both doors; they drain at the same time.
    #[must_use]
    pub fn new(grpc: BoundGrpcServer, http: BoundHttpServer) -> Self {
        Self {
            grpc,
            http: Some(http),
        }
    }
}

impl From<BoundGrpcServer> for Doors {
    fn from(grpc: BoundGrpcServer) -> Self {
        Self { grpc, http: None }
    }
}

/// Spawns the servers on `shutdown`.
pub fn spawn(role: &'static str, doors: impl Into<Doors>, admin: Admin, shutdown: &Shutdown) {
    let Doors { grpc, http } = doors.into();
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
        // A panic of the operators' port is in its own log; there is nothing left to end.
        drop(admin_task.await);
    });
}
