//! Serves a role's calls until the shutdown; the operators' port goes last, so that it can tell of the drain.

use std::error::Error;

use tokio_util::sync::CancellationToken;

use crate::admin::Admin;
use crate::grpc::BoundGrpcServer;
use crate::shutdown::Shutdown;

/// Spawns both servers on `shutdown`. One that stops by itself is logged, and begins the shutdown.
pub fn spawn(role: &'static str, server: BoundGrpcServer, admin: Admin, shutdown: &Shutdown) {
    let admin_end = CancellationToken::new();
    let admin_task = shutdown.spawn(admin.serve(admin_end.clone()));
    let (token, ending) = (shutdown.token(), shutdown.clone());
    shutdown.spawn(async move {
        match server.serve(token).await {
            Ok(drained) => tracing::info!(role, ?drained, "drained"),
            Err(error) => {
                let error: &dyn Error = &error;
                tracing::error!(role, error, "stopped serving");
                ending.begin();
            }
        }
        admin_end.cancel();
        // A panic of the operators' port is in its own log; there is nothing left to end.
        drop(admin_task.await);
    });
}
