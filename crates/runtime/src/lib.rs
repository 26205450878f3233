//! Code that all services share: configuration, telemetry, health, gRPC and HTTP servers, TLS, shutdown, clock.
//!
//! It does not depend on events, the message broker or the database. A service starts like this, and ends
//! when the shutdown begins:
//!
//! ```no_run
//! use runtime::admin::Admin;
//! use runtime::grpc::{GrpcConfig, GrpcServer};
//! use runtime::health::{Health, Probe};
//! use runtime::shutdown::Shutdown;
//!
//! # struct Broker;
//! # impl Broker { async fn ping(&self) -> Result<(), std::io::Error> { Ok(()) } }
//! # static BROKER: Broker = Broker;
//! async fn start(grpc: GrpcConfig, shutdown: &Shutdown) -> Result<(), Box<dyn std::error::Error>> {
//!     let metrics = runtime::metrics::install()?;
//!     let health = Health::new(&["nats"]);
//!     let probe = health.clone().probe("nats", Probe::DEFAULT, || BROKER.ping());
//!     shutdown.spawn_cancellable(probe);
//!     let admin = Admin::bind("127.0.0.1:0".parse()?, health.clone(), metrics).await?;
//!     // Add `.descriptors(..)` and `.service(..)` for each service.
//!     let server = GrpcServer::new(grpc, health).bind().await?;
//!     tracing::info!(grpc.addr = %server.local_addr(), "serving");
//!     runtime::serve::spawn("role", server, admin, shutdown);
//!     Ok(())
//! }
//! ```

pub mod admin;
pub mod clock;
pub mod compute;
pub mod config;
pub mod every;
pub mod failure_log;
pub mod fair;
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
