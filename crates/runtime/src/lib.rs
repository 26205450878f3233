//! Code that all services share: configuration, telemetry, health, gRPC and HTTP servers, TLS, shutdown, clock.
//!
//! It does not depend on events, the message broker or the database. A service runs like this:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use runtime::admin::Admin;
//! use runtime::grpc::{GrpcConfig, GrpcServer};
//! use runtime::health::{Health, Probe};
//! use runtime::shutdown::Shutdown;
//! use tokio_util::sync::CancellationToken;
//!
//! # struct Broker;
//! # impl Broker { async fn ping(&self) -> Result<(), std::io::Error> { Ok(()) } }
//! # static BROKER: Broker = Broker;
//! async fn run(grpc: GrpcConfig, shutdown: Shutdown) -> Result<(), Box<dyn std::error::Error>> {
//!     let metrics = runtime::metrics::install()?;
//!     let health = Health::new(&["nats"]);
//!     let probe = health.clone().probe("nats", Probe::DEFAULT, || BROKER.ping());
//!     shutdown.spawn_cancellable(probe);
//!
//!     let admin = Admin::bind("127.0.0.1:0".parse()?, health.clone(), metrics).await?;
//!     let admin_end = CancellationToken::new();
//!     let admin_task = shutdown.spawn(admin.serve(admin_end.clone()));
//!
//!     // Add `.descriptors(..)` and `.service(..)` for each service.
//!     let server = GrpcServer::new(grpc, health).bind().await?;
//!     tracing::info!(grpc.addr = %server.local_addr(), "serving");
//!     let drained = server.serve(shutdown.token()).await;
//!
//!     admin_end.cancel();
//!     admin_task.await??;
//!     tracing::info!(?drained, "drained");
//!     shutdown.wait(Duration::from_secs(5)).await?;
//!     Ok(())
//! }
//! ```

pub mod admin;
pub mod backoff;
pub mod clock;
pub mod config;
pub mod grpc;
pub mod health;
pub mod http;
pub mod metrics;
mod net;
pub mod rate_limiter;
pub mod serve;
pub mod shutdown;
pub mod start;
pub mod telemetry;
pub mod tls;
