//! nats-server: configuration, process, and readiness.

mod config;
mod ready;
mod server;

pub use config::{Durability, MAX_PAYLOAD_BYTES, NatsConfig};
pub use server::NatsServer;
