//! The gateway: the surfaces of conversations over gRPC and HTTP.
//!
//! A surface translates: a request into acts of the `conversations` crate, and their results into an answer. [`run`] connects
//! the dependencies and serves; [`retention`] removes what is due.

pub mod config;
pub mod document_rpc;
pub mod history_rpc;
pub mod http;
mod key_report;
pub mod render;
pub mod retention;
pub mod rpc;
pub mod run;

pub use config::GatewayConfig;
pub use run::{Running, start};

/// The version of the build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
