//! Addresses of a stack and of its servers.

use event_log::RecordConfig;

/// Addresses of a stack.
#[derive(Debug, Clone)]
pub struct Addresses {
    /// The URL of the writer.
    pub writer_url: String,
    /// The URL of the gateway.
    pub gateway_url: String,
    /// A service token with the scopes append and read.
    pub token: String,
    /// The agent id.
    pub agent: String,
    /// NATS and Postgres, if they are known.
    pub servers: Option<Servers>,
}

/// The servers of a stack.
#[derive(Debug, Clone)]
pub struct Servers {
    /// The record in NATS.
    pub record: RecordConfig,
    /// The URL of Postgres.
    pub database_url: String,
}
