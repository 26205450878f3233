//! nats-server: its configuration, its process, and how it says that it is ready.

mod config;
mod ready;
mod server;

pub use config::{Durability, MAX_PAYLOAD_BYTES, NatsConfig};
pub use server::NatsServer;
